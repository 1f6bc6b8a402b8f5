#include "moves.hpp"

#include <algorithm>

#include "latent.hpp"

namespace kernelbayes {
namespace srvm {

double log_birth_odds(const Config& config, int k, int m) {
  const double b = birth_probability(config, k, m);
  const double d = death_probability(config, k + 1);
  return std::log(config.model.centres.odds(k, m) * d / (k + 1) /
                  (b / (m - k)));
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

void random_move(Particle& particle, const Config& config,
                 const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  const int k = particle.k(), m = pool.size();
  const double b = birth_probability(config, k, m);
  const double d = death_probability(config, k);
  const double u = rng.uniform();
  if (u < b) {
    birth_move(particle, config, pool, rng, scratch);
  } else if (u < b + d) {
    death_move(particle, config, pool, rng, scratch);
  } else if (k > 0 && k < m) {
    swap_move(particle, config, pool, rng, scratch);
  }
}

}  // namespace srvm
}  // namespace kernelbayes
