#pragma once

#include "particle.hpp"

namespace kernelbayes::srvm {

/// Draws the noise given the set and coef / noise, which stays, with the
/// coefficients integrated out: (S52). In the plain form, with both variances
/// learned.
void noise_draw(Particle& particle, const Model& model,
                const CandidatePool& pool, Rng& rng);

}  // namespace kernelbayes::srvm
