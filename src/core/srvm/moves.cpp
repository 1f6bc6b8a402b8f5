#include "moves.hpp"

#include <algorithm>

#include "latent.hpp"

namespace kernelbayes::srvm {

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
