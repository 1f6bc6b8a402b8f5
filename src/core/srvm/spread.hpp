#pragma once

#include "particle.hpp"

namespace kernelbayes::srvm {

// Coefficients of centres that are Student's t, (S66), where each particle has
// its own columns: coefficient j is normal with variance coef v_j, and v_j, its
// spread, is inverse gamma. In a model without spreads these functions do
// nothing, and draw no random number.

/// Draws the spread of the candidate that is considered next.
void offer_spread(Particle& particle, const Model& model, Rng& rng);

/// Draws those of a set of k centres from the prior.
void start_spreads(Particle& particle, const Model& model, int k, Rng& rng);

/// Draws those of the set given coefficients `beta` and the variances. Columns,
/// their sums and `beta` change accordingly; the factor is left as it is.
void draw_spreads(Particle& particle, const Model& model,
                  const CandidatePool& pool, Rng& rng,
                  std::vector<double>& beta);

/// Coefficients of the particle's columns, those of fixed columns first, become
/// those of kernels.
void to_kernels(const Particle& particle, const Model& model, double* beta);

}  // namespace kernelbayes::srvm
