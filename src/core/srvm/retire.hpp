#pragma once

#include "config.hpp"
#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

/// A particle after what left the pool. A row that leaves, or weights that
/// fall, divide the weight by the likelihood that is lost, (S33). A candidate j
/// that
/// leaves sends every set S to S' = S - j, of which S' and S' + j are the
/// possible origins:
///   W = gamma_t(S') / (gamma_{t-1}(S') + gamma_{t-1}(S' + j)), (S34),
/// the second term 0 where S' is as large as a set may be. `steps` are those of
/// the prior to as many candidates as there were, by kernel: candidates of one
/// row leave one after the other. Returns log W.
double retire(Particle& particle, const Config& config,
              const CandidatePool& pool, const std::vector<PriorStep>& steps,
              Scratch& scratch);

/// The steps of the candidates that leave, all of which are still there.
std::vector<PriorStep> steps_down(const CentrePrior& prior,
                                  const CandidatePool& pool);

}  // namespace srvm
}  // namespace kernelbayes
