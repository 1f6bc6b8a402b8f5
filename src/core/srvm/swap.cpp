#include <algorithm>

#include "likelihood.hpp"
#include "moves.hpp"

namespace kernelbayes {
namespace srvm {

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

// What takes the place of a centre: any candidate outside the set or, half of
// the time where there are several kernels, the same row with another of them,
// which few of the first kind are. Both are as probable the other way. -1 if
// that candidate is in the set.
int draw_successor(const Particle& particle, const CandidatePool& pool, int i,
                   Rng& rng) {
  const int h = pool.kernels();
  if (h == 1 || rng.uniform() < 0.5) {
    return draw_unoccupied(particle, pool, rng);
  }
  const int own = particle.set[i], kernel = pool.kernel_of(own);
  const int other = (kernel + 1 + static_cast<int>(rng.index(h - 1))) % h;
  const int j = own - kernel + other;
  const auto& set = particle.set;
  return std::find(set.begin(), set.end(), j) == set.end() ? j : -1;
}

}  // namespace

bool swap_move(Particle& particle, const Config& config,
               const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  if (particle.k() == 0 || particle.k() == pool.size()) return false;
  const bool intercept = config.model.intercept;
  const int i = static_cast<int>(rng.index(particle.k()));
  const int j = draw_successor(particle, pool, i, rng);
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  ++particle.moves.tried[2];
  if (j < 0) return false;
  const Birth birth =
      propose_birth(particle, config, pool, likelihood, j, scratch);
  const Death death =
      score_death(particle, likelihood, i, intercept, scratch.c);
  const double log_ratio =
      log_swap_ratio(birth, death, likelihood, particle.factor.size(),
                     scratch.b, scratch.c) +
      pool.log_odds(j) - pool.log_odds(particle.set[i]);
  if (!accept(log_ratio, rng)) return false;
  append(particle, birth, scratch.a, scratch.b);
  erase(particle, i, intercept, scratch.c);
  ++particle.moves.accepted[2];
  return true;
}

}  // namespace srvm
}  // namespace kernelbayes
