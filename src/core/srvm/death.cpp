#include "likelihood.hpp"
#include "moves.hpp"

namespace kernelbayes {
namespace srvm {

bool death_move(Particle& particle, const Config& config,
                const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  if (particle.k() == 0) return false;
  const int i = static_cast<int>(rng.index(particle.k()));
  const bool intercept = config.model.intercept;
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  const Death death =
      score_death(particle, likelihood, i, intercept, scratch.a);
  ++particle.moves.tried[1];
  const double odds = log_birth_odds(config, particle.k() - 1, pool.size()) +
                      pool.log_odds(particle.set[i]);
  if (!accept(death.log_ratio - odds, rng)) return false;
  erase(particle, i, intercept, scratch.a);
  ++particle.moves.accepted[1];
  return true;
}

}  // namespace srvm
}  // namespace kernelbayes
