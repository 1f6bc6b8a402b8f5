#include "likelihood.hpp"
#include "moves.hpp"
#include "spread.hpp"

namespace kernelbayes::srvm {

// (S19).
bool birth_move(Particle& particle, const Config& config,
                const CandidatePool& pool, const CandidateChoice& choice,
                Rng& rng, Scratch& scratch) {
  const int m = pool.size();
  if (particle.k() >= config.model.centres.limit(m)) return false;
  const int j = choice.draw_outside(particle.set, rng);
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  offer_spread(particle, config.model, rng);
  const Birth birth =
      propose_birth(particle, config, pool, likelihood, j, scratch);
  ++particle.moves.tried[0];
  const double log_odds = log_prior_odds(config, particle.k(), m) +
                          pool.log_odds(j) + choice.log_birth(particle.set, j);
  if (!accept(birth.log_ratio + log_odds, rng)) return false;
  append(particle, birth, scratch.a, scratch.b);
  ++particle.moves.accepted[0];
  return true;
}

}  // namespace kernelbayes::srvm
