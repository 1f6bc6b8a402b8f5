#pragma once

#include "../linalg.hpp"
#include "particle.hpp"

namespace kernelbayes::srvm {

/// Posterior mean and variance of f at n points given one particle's set and
/// psi (the coefficients integrated out). `fixed` are the model's fixed columns
/// at the points. `values` is n x U: the kernel between the points and the
/// candidates in use; `column[j]` is the column of candidate j.
void posterior_moments(const Particle& particle, const Model& model,
                       const Eigen::MatrixXd& fixed,
                       const Eigen::MatrixXd& values,
                       const std::vector<int>& column,
                       Eigen::Ref<Eigen::VectorXd> mean,
                       Eigen::Ref<Eigen::VectorXd> variance);

}  // namespace kernelbayes::srvm
