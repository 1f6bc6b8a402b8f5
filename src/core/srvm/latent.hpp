#pragma once

#include "particle.hpp"

namespace kernelbayes::srvm {

/// Sums over the data of a candidate with a particle's set, as the model
/// requires: shared ones, or with the particle's weights or responses.
CandidateSums candidate_sums(const Particle& particle, const Model& model,
                             const CandidatePool& pool, int candidate,
                             std::vector<double>& g);

/// The same for a candidate whose sums over the data are `shared`, with the
/// gram entries in `g`: replaces them by particle-specific values if needed. A
/// latent response of the latest row counts with `power`.
CandidateSums own_sums(const Particle& particle, const Model& model,
                       const CandidatePool& pool, int candidate,
                       CandidateSums shared, std::vector<double>& g,
                       double power = 1);

/// Draws all latent variables given coefficients `beta` and the noise, and
/// recomputes the particle's sums; the factor is not changed.
///   probit:   z_s ~ N(f_s, 1 / w) with z_s + offset_s on the side of y_s
///   Student:  omega_s ~ Gamma(w (df + 1) / 2, (df + r_s^2 / noise) / 2)
/// where w is 1 except for a row that is entering (arrival.hpp): (S21), (S41).
/// Degrees of freedom that are learned are drawn first, with the noise: (S61).
void draw_latent(Particle& particle, const Model& model,
                 const CandidatePool& pool, const std::vector<double>& beta,
                 Rng& rng);

/// All sums of the particle from its set, columns and latent variables.
void sum_up(Particle& particle, const Model& model, const CandidatePool& pool);

/// The log density of all responses given coefficients `beta` and the noise,
/// latent variables integrated out, (S60); of rows with weights, that of the
/// root of their weight times the response.
double log_likelihood(const Particle& particle, const Model& model,
                      const CandidatePool& pool,
                      const std::vector<double>& beta);

}  // namespace kernelbayes::srvm
