#pragma once

#include "particle.hpp"

namespace kernelbayes::srvm {

/// log L(S | psi) for responses whose number (or sum of weights) is `rows` and
/// whose squares sum to `squares`, up to a constant of the prior: (S7), (S8).
double log_marginal(const Particle& particle, const Model& model, double rows,
                    double squares);

/// A Metropolis step in log coef with the coefficients integrated out; the
/// Gibbs draw of coef given coefficients mixes slowly if kernels overlap.
/// (S18). True if it was accepted.
bool coef_move(Particle& particle, const Model& model,
               const CandidatePool& pool, double step, Rng& rng);

/// The same for log noise; not in the scaled form, which has no noise
/// parameter.
bool noise_move(Particle& particle, const Model& model,
                const CandidatePool& pool, double step, Rng& rng);

/// Draws the noise given the set and coef / noise, which stays, with the
/// coefficients integrated out: (S52). In the plain form, with both variances
/// learned.
void noise_draw(Particle& particle, const Model& model,
                const CandidatePool& pool, Rng& rng);

}  // namespace kernelbayes::srvm
