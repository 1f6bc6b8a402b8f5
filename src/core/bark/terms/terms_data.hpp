#pragma once

#include <vector>

#include "core/linalg.hpp"

namespace kernelbayes::bark {

/// A factor with coefficients for each of its groups: row i of group g has
/// z_i'b_g, b_g ~ N(0, Sigma).
struct Grouping {
  std::vector<int> group;  // of each row, from 0
  int count = 0;
  Eigen::MatrixXd z;      // n x q
  Eigen::VectorXd scale;  // of the prior of each standard deviation, (B100)

  int size() const { return static_cast<int>(z.cols()); }
};

/// What a response has beside its kernels: an offset, X gamma and the
/// coefficients of groups, (B99).
struct TermData {
  Eigen::MatrixXd linear;  // n x q
  Eigen::VectorXd linear_sd;
  Eigen::VectorXd linear_mean;  // of their prior; empty: 0
  std::vector<Grouping> groupings;
  Eigen::VectorXd offset;  // of latent responses; empty if there is none
  /// The last columns of `linear` may be slopes on the inputs of kernels: their
  /// standard deviation is common and unknown, half-t of this scale, (B143).
  int slopes = 0;
  double slope_scale = 1;

  bool any() const { return linear.cols() > 0 || !groupings.empty(); }
  /// Adds slopes on the columns of x; none if the scale is 0.
  void add_slopes(const Eigen::MatrixXd& x, double scale);
};

}  // namespace kernelbayes::bark
