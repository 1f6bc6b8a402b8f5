#pragma once

#include "../linalg.hpp"

namespace kernelbayes::kgs {

/// From derivatives with respect to the Cholesky factor L of A to those with
/// respect to A, symmetric, (G43); only the lower triangle of `of_factor` is
/// read.
inline Eigen::MatrixXd cholesky_slope(const Eigen::MatrixXd& factor,
                                      const Eigen::MatrixXd& of_factor) {
  Eigen::MatrixXd out =
      factor.triangularView<Eigen::Lower>().transpose() *
      Eigen::MatrixXd(of_factor.triangularView<Eigen::Lower>());
  out.diagonal() *= 0.5;
  Eigen::MatrixXd half = out.triangularView<Eigen::Lower>();
  out = 0.5 * (half + half.transpose());
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(out);
  factor.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(out);
  return out;
}

}  // namespace kernelbayes::kgs
