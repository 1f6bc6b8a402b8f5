#include "likelihood.hpp"
#include "moves.hpp"

namespace kernelbayes {
namespace srvm {

void death_move(Particle& particle, const Config& config,
                const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  const int i = static_cast<int>(rng.index(particle.k()));
  const bool intercept = config.model.intercept;
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  const Death death =
      score_death(particle, likelihood, i, intercept, scratch.a);
  ++particle.moves.tried[1];
  const double odds = log_birth_odds(config, particle.k() - 1, pool.size());
  if (!accept(death.log_ratio - odds, rng)) return;
  erase(particle, i, intercept, scratch.a);
  ++particle.moves.accepted[1];
}

}  // namespace srvm
}  // namespace kernelbayes
