#pragma once

#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

/// log L(S | psi) up to a constant that depends on neither S nor psi.
double log_marginal(const Particle& particle, const Model& model,
                    const CandidatePool& pool);

/// A Metropolis step in log coef with the coefficients integrated out; the
/// Gibbs draw of coef given coefficients moves slowly where kernels overlap.
/// True if it was accepted.
bool coef_move(Particle& particle, const Model& model,
               const CandidatePool& pool, double step, Rng& rng);

}  // namespace srvm
}  // namespace kernelbayes
