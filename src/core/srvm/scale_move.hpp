#pragma once

#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

/// A Metropolis step to these inverse bandwidths, proposed symmetrically in
/// their logarithms, with the coefficients integrated out: (S51). True if it
/// was accepted.
bool scale_move(Particle& particle, const Model& model,
                const CandidatePool& pool, const Eigen::VectorXd& log_inverse,
                Rng& rng);

}  // namespace srvm
}  // namespace kernelbayes
