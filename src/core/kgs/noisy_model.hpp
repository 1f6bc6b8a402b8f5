#pragma once

#include <optional>

#include "../radial_kernel.hpp"
#include "noisy_labels.hpp"

namespace kernelbayes::kgs {

/// Normal approximations of the likelihood of functions, each independent of
/// the others: precisions of each datum (one column: those of every function),
/// and precisions times means.
struct Normals {
  Eigen::MatrixXd precision, pull;  // data x functions
};

/// The likelihood near eta: its slope there by eta, and the information of each
/// datum by all functions.
struct Sites {
  /// Of all functions, (G50).
  Normals of_all(const NoisyLabels& labels) const;
  /// Of the contrasts, with the mean information.
  Normals of_contrasts() const;

  Eigen::MatrixXd information;  // data x all functions
  Eigen::MatrixXd eta, slope;   // data x functions
};

/// Bandwidths that are learned, (G37): the logarithms of their inverses are
/// offset + design h, h standard normal. The kernel has a constant added.
struct LearnedKernel {
  RadialKernel kernel;
  Eigen::MatrixXd points, pivots;  // data x predictors, rank x predictors
  double bias = 1;
  Eigen::VectorXd offset;
  Eigen::MatrixXd design;
  /// Squared distances of points and pivots to the pivots for bandwidth 1,
  /// where all predictors have the same bandwidth: see find_distances().
  Eigen::MatrixXd from_points, from_pivots;
};

/// A normal approximation of the posterior of h, (G41): centre + root x. The
/// mean of log s is linear in x.
struct Proposal {
  Eigen::VectorXd centre, slope;
  Eigen::MatrixXd root;  // lower triangular
};

/// Functions with noise: eta = s Phi w, w standard normal, s^2 = 1 / nugget,
/// Phi the square root of a kernel matrix. Shared by chains; levels refer to
/// it.
struct NoisyModel {
  int levels() const { return 1; }
  int rank() const {
    return static_cast<int>(learned ? learned->pivots.rows() : features.cols());
  }

  NoisyLabels labels;
  Noise noise;
  bool learns_scale = true;        // s
  double log_s = 0, log_s_sd = 1;  // its prior, or its value
  Eigen::MatrixXd features{};      // data x rank, of a kernel that is given
  std::optional<LearnedKernel> learned{};
  Sites sites{};
  Proposal proposal{};
  double start_log_s = 0, start_sd = 0.3, start_rate = 0.1;
};

}  // namespace kernelbayes::kgs
