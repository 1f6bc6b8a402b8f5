#include "moves.hpp"

namespace kernelbayes {
namespace srvm {

void birth_move(Particle& particle, const Config& config,
                const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  const int m = pool.size();
  const int j = draw_unoccupied(particle, m, rng);
  gather_gram(pool, particle, j, config.model.intercept, scratch.a);
  const Birth birth = score_birth(particle, j, scratch.a, pool.gram(j, j),
                                  pool.rhs(j), scratch.b);
  ++particle.moves.tried[0];
  const double odds = log_birth_odds(config, particle.k(), m);
  if (!accept(birth.log_ratio + odds, rng)) return;
  append(particle, birth, scratch.a, scratch.b);
  ++particle.moves.accepted[0];
}

}  // namespace srvm
}  // namespace kernelbayes
