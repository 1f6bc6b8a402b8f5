#pragma once

#include "core/archive.hpp"
#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// Kept draws of a sum of kernels, one after the other; of each the m slots
/// with a draw of their coefficients, and the factor L of phi G + diag(1 / v)
/// with z = L^-1 phi K'Wy, from which the mean and variance of f given all else
/// follow. y is latent in a model of classes, whose phi is 1; W holds Student's
/// row weights, which are not kept.
struct KernelDraws {
  std::vector<int> m, location, copies, included;
  std::vector<double> log_lambda, variance, beta, factor, z;
  std::vector<double> directions;  // U, column by column
  // Of kernels' own shapes, p numbers per slot (0 of the intercept).
  std::vector<double> centre, own_log_lambda;
  std::vector<int> own_included;

  /// Adds the kernels of a state with a draw of their coefficients, which it
  /// returns.
  Eigen::VectorXd record(const State& state, bool prior_only, Rng& rng);
  void transfer(Archive& archive, const Prior& prior);
};

}  // namespace bark
}  // namespace kernelbayes
