#pragma once

#include <vector>

#include "particle.hpp"

namespace kernelbayes::srvm {

/// How moves choose candidates: each has a weight a_j, a birth chooses j
/// outside the set S with probability a_j / A(outside), a death i in it with
/// a_i / A(S), where A are sums of weights.
///
/// All weights are 1, except that a candidate whose row is entering has a
/// quarter of their sum: a set then often needs to exchange a centre for it,
/// which is hardly ever proposed by chance.
class CandidateChoice {
 public:
  explicit CandidateChoice(const CandidatePool& pool);

  /// A candidate outside the set; the place of one in the set.
  int draw_outside(const std::vector<int>& set, Rng& rng) const;
  int draw_place(const std::vector<int>& set, Rng& rng) const;

  /// log of q(S' to S) / q(S to S'), where S' is S with j, without its i-th
  /// member, or with j instead of it: with a free choice of j, or one that
  /// follows from the choice of i. (S19), (S20).
  double log_birth(const std::vector<int>& set, int j) const;
  double log_death(const std::vector<int>& set, int i) const;
  double log_swap(const std::vector<int>& set, int i, int j, bool free) const;

 private:
  double weight(int j) const {
    return j >= first_ && j < first_ + newcomers_ ? newcomer_ : 1;
  }
  double sum(const std::vector<int>& set) const;

  const CandidatePool& pool_;
  int newcomers_, first_;
  double newcomer_, total_;
};

/// Reversible-jump moves that leave p(S | psi, y_1..t) invariant, (S19) and
/// (S20). Each tries once: it proposes, accepts or not, counts, and returns
/// whether it accepted.
bool birth_move(Particle& particle, const Config& config,
                const CandidatePool& pool, const CandidateChoice& choice,
                Rng& rng, Scratch& scratch);
bool death_move(Particle& particle, const Config& config,
                const CandidatePool& pool, const CandidateChoice& choice,
                Rng& rng, Scratch& scratch);
bool swap_move(Particle& particle, const Config& config,
               const CandidatePool& pool, const CandidateChoice& choice,
               Rng& rng, Scratch& scratch);

/// n moves. A particle has a direction, drawn at the first: births are tried
/// until one is rejected, then deaths until one is rejected, and so on; the
/// size of the set then does not go back and forth (Gagnon and Doucet, 2021, on
/// nonreversible jumps; after (S19)). A share 2 c of the tries are such jumps,
/// with the papers' c; the others are swaps.
void move_set(Particle& particle, const Config& config,
              const CandidatePool& pool, int n, Rng& rng, Scratch& scratch);

/// b(k) = c min(1, p(k+1)/p(k)), none at the largest size: (S30).
inline double birth_probability(const Config& config, int k, int m) {
  const CentrePrior& prior = config.model.centres;
  if (k >= prior.limit(m)) return 0;
  return config.move_fraction * std::min(1.0, prior.next(k));
}

/// d(k) = c min(1, p(k-1)/p(k)), none for the empty set: (S30).
inline double death_probability(const Config& config, int k) {
  if (k == 0) return 0;
  return config.move_fraction *
         std::min(1.0, 1 / config.model.centres.next(k - 1));
}

/// log of the prior probability of a set of k + 1 centres out of m over that of
/// a set of k: (S4).
inline double log_prior_odds(const Config& config, int k, int m) {
  return std::log(config.model.centres.odds(k, m));
}

/// Scores the birth of candidate j: leaves its gram entries with the set in
/// scratch.a, its row of the factor in scratch.b.
Birth propose_birth(const Particle& particle, const Config& config,
                    const CandidatePool& pool, const Likelihood& likelihood,
                    int j, Scratch& scratch);

/// (S12): log L(S + j - i) - log L(S), the birth of j, then the death of i from
/// the factor that j's row [h', pivot] would extend. `w` is column i of L^-1.
double log_swap_ratio(const Birth& birth, const Death& death,
                      const Likelihood& likelihood, int p,
                      const std::vector<double>& h,
                      const std::vector<double>& w);

/// Metropolis acceptance on the log scale.
inline bool accept(double log_ratio, Rng& rng) {
  return log_ratio >= 0 || rng.uniform() < std::exp(log_ratio);
}

}  // namespace kernelbayes::srvm
