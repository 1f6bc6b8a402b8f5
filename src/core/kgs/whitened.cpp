#include "whitened.hpp"

#include <Eigen/Cholesky>

namespace kernelbayes {
namespace kgs {

using Eigen::MatrixXd;

Whitened::Whitened(const Span& span, double s, const Sites& sites) {
  factor_ = s * s * span.squares(sites.precision);
  factor_.diagonal().array() += 1;
  const Eigen::LLT<Eigen::Ref<MatrixXd>> llt(factor_);
  mean_ = s * span.transposed_times(sites.pull);
  factor_.triangularView<Eigen::Lower>().solveInPlace(mean_);
  factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(mean_);
}

MatrixXd Whitened::to_w(const MatrixXd& z) const {
  MatrixXd out = z;
  factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(out);
  return out + mean_;
}

MatrixXd Whitened::to_z(const MatrixXd& w) const {
  return factor_.transpose().triangularView<Eigen::Upper>() * (w - mean_);
}

MatrixXd Whitened::slope(const MatrixXd& of_w) const {
  MatrixXd out = of_w;
  factor_.triangularView<Eigen::Lower>().solveInPlace(out);
  return out;
}

MatrixXd Whitened::covariance_times(const MatrixXd& v) const {
  MatrixXd out = slope(v);
  factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(out);
  return out;
}

double Whitened::log_volume() const {
  return -static_cast<double>(mean_.cols()) *
         factor_.diagonal().array().log().sum();
}

}  // namespace kgs
}  // namespace kernelbayes
