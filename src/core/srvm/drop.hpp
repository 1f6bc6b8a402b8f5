#pragma once

#include "config.hpp"
#include "particle.hpp"

namespace kernelbayes::srvm {

/// Updates a particle for what left the pool. If a row leaves, or weights fall,
/// the weight is divided by the lost likelihood, (S33). If a candidate j
/// leaves, every set S becomes S' = S - j, with possible origins S' and S' + j:
///   W = gamma_t(S') / (gamma_{t-1}(S') + gamma_{t-1}(S' + j)), (S34),
/// the second term 0 if S' has the largest size. `steps` are those of the prior
/// to the previous number of candidates, by kernel: candidates of one row leave
/// one after another. Returns log W.
double drop(Particle& particle, const Config& config, const CandidatePool& pool,
            const std::vector<PriorStep>& steps, Scratch& scratch);

/// The steps of the leaving candidates, which all still exist.
std::vector<PriorStep> steps_down(const CentrePrior& prior,
                                  const CandidatePool& pool);

}  // namespace kernelbayes::srvm
