#include "likelihood.hpp"
#include "moves.hpp"

namespace kernelbayes::srvm {

// (S19).
bool death_move(Particle& particle, const Config& config,
                const CandidatePool& pool, const CandidateChoice& choice,
                Rng& rng, Scratch& scratch) {
  if (particle.k() == 0) return false;
  const int i = choice.draw_place(particle.set, rng);
  const int fixed = config.model.fixed();
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  const Death death = score_death(particle, likelihood, i, fixed, scratch.a);
  ++particle.moves.tried[1];
  const double log_odds =
      log_prior_odds(config, particle.k() - 1, pool.size()) +
      pool.log_odds(particle.set[i]);
  const double log_proposals = choice.log_death(particle.set, i);
  if (!accept(death.log_ratio - log_odds + log_proposals, rng)) return false;
  erase(particle, i, fixed, scratch.a);
  ++particle.moves.accepted[1];
  return true;
}

}  // namespace kernelbayes::srvm
