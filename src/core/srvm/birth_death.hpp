#pragma once

#include "arrival.hpp"
#include "moves.hpp"

namespace kernelbayes::srvm {

/// The papers' proposal: the set stays, or one of its neighbours is chosen,
/// (S30). With m candidates at t and m' at t - 1, the weight is given by the
/// general formula for every choice of step (log_general_weight() in
/// kernelbayes/transdim_law.hpp),
///
///   W = [gamma_t(S) / gamma_{t-1}(S')] alpha'(S) q'(S' | S)
///                                      / [alpha(S') q(S | S')],
///
/// where alpha and q are the move probabilities among m candidates, alpha' and
/// q' those among m', and alpha' q' = 1 if S contains the new candidate: its
/// only possible ancestor is S without it, (S31). Proposal::kPaper uses the
/// weights as printed, (S32), which are not exact.
struct BirthDeathStep {
  enum class Kind { kZero, kBirth, kDeath };
  Kind kind = Kind::kZero;
  int which = 0;  // a birth's candidate; a death's place in the set
};

/// Candidates before and after the latest row.
struct CandidateCounts {
  int before, now;
  bool grown() const { return now > before; }
};

inline CandidateCounts candidate_counts(const CandidatePool& pool) {
  return {pool.size() - pool.latest_is_new(), pool.size()};
}

/// alpha: the probabilities of a birth and of a death at size k.
struct MoveProbabilities {
  double birth, death;
  double zero() const { return 1 - birth - death; }
};
MoveProbabilities forward_probabilities(const Config& config, int k, int m);

/// alpha(S') q(S | S') of one step from a set of size k.
double step_probability(const Config& config, int k, int m,
                        const BirthDeathStep& step);

/// log W minus the log likelihood ratio, for a step from a set of size k: the
/// formula with the prior's part of the ratio of targets.
double log_step_factor(const Config& config, const PriorStep& prior, int k,
                       CandidateCounts m, const BirthDeathStep& step);

BirthDeathStep draw_step(const Particle& particle, const Config& config,
                         const CandidatePool& pool, Rng& rng);

/// Takes in the latest row of the pool, at its power there, carries out the
/// step and returns log W.
double take_step(Particle& particle, const Config& config,
                 const CandidatePool& pool, const PriorStep& prior,
                 const Arrival& arrival, const BirthDeathStep& step, Rng& rng,
                 Scratch& scratch);

/// The row's next increase: the first one with a step that is drawn.
double extend_birth_death(Particle& particle, const Config& config,
                          const CandidatePool& pool, const PriorStep& prior,
                          const Arrival& arrival, Rng& rng, Scratch& scratch);

}  // namespace kernelbayes::srvm
