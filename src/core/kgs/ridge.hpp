#pragma once

#include "span.hpp"

namespace kernelbayes {
namespace kgs {

/// The normal approximation under one kernel for every scale s, (G46): w = mean
/// + V (1 + s^2 d)^(-1/2) z, with V and d the eigenvectors and eigenvalues of
/// Phi' W Phi, W the precisions of a function.
class Ridge {
 public:
  Ridge() = default;
  Ridge(const Span& span, const Normals& normals);

  Eigen::MatrixXd to_w(const Eigen::MatrixXd& z, double s) const;
  Eigen::MatrixXd to_z(const Eigen::MatrixXd& w, double s) const;
  /// log |dw / dz|.
  double log_volume(double s) const;

 private:
  struct One {
    Eigen::VectorXd root(double s) const;

    Eigen::VectorXd values, pull;  // d, and V' Phi' times the pull
    Eigen::MatrixXd vectors;
  };
  std::vector<One> each_;  // of each function
};

}  // namespace kgs
}  // namespace kernelbayes
