#include "moves.hpp"

#include <algorithm>

#include "latent.hpp"

namespace kernelbayes {
namespace srvm {

double log_birth_odds(const Config& config, int k, int m) {
  return std::log(config.model.centres.odds(k, m) * (m - k) / (k + 1));
}

Birth propose_birth(const Particle& particle, const Config& config,
                    const CandidatePool& pool, const Likelihood& likelihood,
                    int j, Scratch& scratch) {
  const CandidateSums sums =
      candidate_sums(particle, config.model, pool, j, scratch.a);
  return score_birth(particle, likelihood, j, sums, scratch.a, scratch.b);
}

int draw_unoccupied(const Particle& particle, const CandidatePool& pool,
                    Rng& rng) {
  const auto& set = particle.set;
  for (;;) {
    const int j = pool.candidate(rng.index(pool.size()));
    if (std::find(set.begin(), set.end(), j) == set.end()) return j;
  }
}

void move_set(Particle& particle, const Config& config,
              const CandidatePool& pool, int n, Rng& rng, Scratch& scratch) {
  bool up = rng.uniform() < 0.5;
  for (int i = 0; i < n; ++i) {
    if (rng.uniform() < 2 * config.move_fraction) {
      const bool moved = up ? birth_move(particle, config, pool, rng, scratch)
                            : death_move(particle, config, pool, rng, scratch);
      if (!moved) up = !up;
    } else {
      swap_move(particle, config, pool, rng, scratch);
    }
  }
}

}  // namespace srvm
}  // namespace kernelbayes
