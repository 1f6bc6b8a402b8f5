#include <algorithm>

#include "likelihood.hpp"
#include "moves.hpp"
#include "spread.hpp"

namespace kernelbayes::srvm {

// (S12).
double log_swap_ratio(const Birth& birth, const Death& death,
                      const Likelihood& likelihood, int p,
                      const std::vector<double>& h,
                      const std::vector<double>& w) {
  double product = 0;
  for (int j = 0; j < p; ++j) product += h[j] * w[j];
  const double last = -product / birth.pivot;
  const double variance = death.variance + last * last;
  const double mean = death.mean + last * birth.z;
  return birth.log_volume - 0.5 * std::log(likelihood.ridge() * variance) +
         likelihood.explain(birth.z * birth.z - mean * mean / variance);
}

namespace {

// The candidate of the same row with another kernel; -1 if it is in the set.
int draw_sibling(const Particle& particle, const CandidatePool& pool, int i,
                 Rng& rng) {
  const int h = pool.kernels();
  const int own = particle.set[i], kernel = pool.kernel_of(own);
  const int other = (kernel + 1 + static_cast<int>(rng.index(h - 1))) % h;
  const int j = own - kernel + other;
  const auto& set = particle.set;
  return std::find(set.begin(), set.end(), j) == set.end() ? j : -1;
}

}  // namespace

// (S20).
bool swap_move(Particle& particle, const Config& config,
               const CandidatePool& pool, const CandidateChoice& choice,
               Rng& rng, Scratch& scratch) {
  if (particle.k() == 0 || particle.k() == pool.size()) return false;
  const int fixed = config.model.fixed();
  const int i = choice.draw_place(particle.set, rng);
  // With several kernels, half of the time the same row with another kernel
  // replaces the centre: free choices rarely propose this.
  const bool free = pool.kernels() == 1 || rng.uniform() < 0.5;
  const int j = free ? choice.draw_outside(particle.set, rng)
                     : draw_sibling(particle, pool, i, rng);
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  ++particle.moves.tried[2];
  if (j < 0) return false;
  offer_spread(particle, config.model, rng);
  const Birth birth =
      propose_birth(particle, config, pool, likelihood, j, scratch);
  const Death death = score_death(particle, likelihood, i, fixed, scratch.c);
  const double log_ratio =
      log_swap_ratio(birth, death, likelihood, particle.factor.size(),
                     scratch.b, scratch.c) +
      pool.log_odds(j) - pool.log_odds(particle.set[i]) +
      choice.log_swap(particle.set, i, j, free);
  if (!accept(log_ratio, rng)) return false;
  append(particle, birth, scratch.a, scratch.b);
  erase(particle, i, fixed, scratch.c);
  ++particle.moves.accepted[2];
  return true;
}

}  // namespace kernelbayes::srvm
