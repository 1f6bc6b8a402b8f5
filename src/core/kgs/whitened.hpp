#pragma once

#include "span.hpp"

namespace kernelbayes::kgs {

/// The normal approximation of the posterior of w under normal likelihoods,
/// (G39), in the coordinates u of the span: u = mean + M'^-1 z for each
/// function, z standard normal.
class Whitened {
 public:
  Whitened() = default;
  /// Functions have factors of their own, or one if there is one column of
  /// precisions.
  Whitened(const Span& span, double s, const Normals& normals);

  Eigen::MatrixXd to_u(const Eigen::MatrixXd& z) const;
  Eigen::MatrixXd to_z(const Eigen::MatrixXd& u) const;
  /// M^-1 times derivatives with respect to L'u = w, multiplied by L: those
  /// with respect to z.
  Eigen::MatrixXd slope(Eigen::MatrixXd of_u) const;
  /// (MM')^-1 v.
  Eigen::MatrixXd solve(Eigen::MatrixXd v) const;
  /// log |dw / dz|.
  double log_volume() const { return log_volume_; }
  const Eigen::MatrixXd& mean() const { return mean_; }

 private:
  template <class Change>
  void change_each(Eigen::MatrixXd& columns, const Change& change) const;
  void solve_upper(Eigen::MatrixXd& columns) const;

  std::vector<Eigen::MatrixXd> factors_;  // M, lower triangular
  Eigen::MatrixXd mean_;
  double log_volume_ = 0;
};

}  // namespace kernelbayes::kgs
