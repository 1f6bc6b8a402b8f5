#include "moves.hpp"

#include <algorithm>
#include <cmath>

#include "latent.hpp"

namespace kernelbayes::srvm {

namespace {

// The share of choices for the newcomer: with half of them, other moves are too
// rare if the newcomer does not matter.
constexpr double kShare = 0.25;

}  // namespace

CandidateChoice::CandidateChoice(const CandidatePool& pool)
    : pool_(pool), newcomers_(0), first_(0), newcomer_(1), total_(pool.size()) {
  if (pool.power() == 1 || !pool.latest_is_new()) return;
  newcomers_ = pool.kernels();
  first_ = pool.latest();
  newcomer_ = 1 + kShare / (1 - kShare) * total_ / newcomers_;
  total_ /= 1 - kShare;
}

double CandidateChoice::sum(const std::vector<int>& set) const {
  double sum = static_cast<double>(set.size());
  if (newcomers_ == 0) return sum;
  for (const int j : set) sum += weight(j) - 1;
  return sum;
}

int CandidateChoice::draw_outside(const std::vector<int>& set, Rng& rng) const {
  for (;;) {
    const bool newcomer = newcomers_ > 0 && rng.uniform() < kShare;
    const int j = newcomer ? first_ + static_cast<int>(rng.index(newcomers_))
                           : pool_.candidate(rng.index(pool_.size()));
    if (std::find(set.begin(), set.end(), j) == set.end()) return j;
  }
}

int CandidateChoice::draw_place(const std::vector<int>& set, Rng& rng) const {
  const int k = static_cast<int>(set.size());
  if (newcomers_ == 0) return static_cast<int>(rng.index(k));
  double u = rng.uniform() * sum(set);
  for (int i = 0; i < k; ++i) {
    u -= weight(set[i]);
    if (u < 0) return i;
  }
  return k - 1;
}

double CandidateChoice::log_birth(const std::vector<int>& set, int j) const {
  const double inside = sum(set);
  return std::log((total_ - inside) / (inside + weight(j)));
}

double CandidateChoice::log_death(const std::vector<int>& set, int i) const {
  const double inside = sum(set);
  return std::log(inside / (total_ - inside + weight(set[i])));
}

double CandidateChoice::log_swap(const std::vector<int>& set, int i, int j,
                                 bool free) const {
  if (newcomers_ == 0) return 0;
  const double leaves = weight(set[i]), enters = weight(j);
  const double before = sum(set), after = before - leaves + enters;
  if (!free) return std::log(enters * before / (leaves * after));
  return std::log((total_ - before) * before / ((total_ - after) * after));
}

Birth propose_birth(const Particle& particle, const Config& config,
                    const CandidatePool& pool, const Likelihood& likelihood,
                    int j, Scratch& scratch) {
  const CandidateSums sums =
      candidate_sums(particle, config.model, pool, j, scratch.a);
  return score_birth(particle, likelihood, j, sums, scratch.a, scratch.b);
}

void move_set(Particle& particle, const Config& config,
              const CandidatePool& pool, int n, Rng& rng, Scratch& scratch) {
  const CandidateChoice choice(pool);
  bool up = rng.uniform() < 0.5;
  for (int i = 0; i < n; ++i) {
    if (rng.uniform() < 2 * config.move_fraction) {
      const auto move = up ? birth_move : death_move;
      const bool moved = move(particle, config, pool, choice, rng, scratch);
      if (!moved) up = !up;
    } else {
      swap_move(particle, config, pool, choice, rng, scratch);
    }
  }
}

}  // namespace kernelbayes::srvm
