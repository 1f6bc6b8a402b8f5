#pragma once

#include "config.hpp"
#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

/// A particle after what left the pool. A row that leaves, or weights that
/// fall, divide the weight by the likelihood that is lost. A candidate j that
/// leaves sends every set S to S' = S - j, of which S' and S' + j are the
/// possible origins:
///   W = gamma_t(S') / (gamma_{t-1}(S') + gamma_{t-1}(S' + j)),
/// the second term 0 where S' is as large as a set may be. `prior` is that of
/// the step to as many candidates as there were. Returns log W.
double retire(Particle& particle, const Config& config,
              const CandidatePool& pool, const PriorStep& prior,
              Scratch& scratch);

}  // namespace srvm
}  // namespace kernelbayes
