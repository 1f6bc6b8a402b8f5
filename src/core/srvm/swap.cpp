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

void swap_move(Particle& particle, const Config& config,
               const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  const bool intercept = config.model.intercept;
  const int i = static_cast<int>(rng.index(particle.k()));
  const int j = draw_unoccupied(particle, pool, rng);
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  const Birth birth =
      propose_birth(particle, config, pool, likelihood, j, scratch);
  const Death death =
      score_death(particle, likelihood, i, intercept, scratch.c);
  ++particle.moves.tried[2];
  const double log_ratio =
      log_swap_ratio(birth, death, likelihood, particle.factor.size(),
                     scratch.b, scratch.c);
  if (!accept(log_ratio, rng)) return;
  append(particle, birth, scratch.a, scratch.b);
  erase(particle, i, intercept, scratch.c);
  ++particle.moves.accepted[2];
}

}  // namespace srvm
}  // namespace kernelbayes
