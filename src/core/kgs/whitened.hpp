#pragma once

#include "span.hpp"

namespace kernelbayes {
namespace kgs {

/// The normal approximation of the posterior of w under sites, (G39): w = mean
/// + R'^-1 z for each function, z standard normal.
class Whitened {
 public:
  Whitened() = default;
  Whitened(const Span& span, double s, const Sites& sites);

  Eigen::MatrixXd to_w(const Eigen::MatrixXd& z) const;
  Eigen::MatrixXd to_z(const Eigen::MatrixXd& w) const;
  /// R^-1 times derivatives with respect to w: those with respect to z.
  Eigen::MatrixXd slope(const Eigen::MatrixXd& of_w) const;
  /// (RR')^-1 v.
  Eigen::MatrixXd covariance_times(const Eigen::MatrixXd& v) const;
  /// log |dw / dz|.
  double log_volume() const;
  const Eigen::MatrixXd& mean() const { return mean_; }
  const Eigen::MatrixXd& factor() const { return factor_; }

 private:
  Eigen::MatrixXd factor_, mean_;  // R, lower triangular
};

}  // namespace kgs
}  // namespace kernelbayes
