#include "ridge.hpp"

#include "../decompositions.hpp"

namespace kernelbayes {
namespace kgs {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Ridge::Ridge(const Span& span, const Sites& sites) {
  linalg::Spectrum spectrum = linalg::spectrum(span.squares(sites.precision));
  values_ = spectrum.values.cwiseMax(0);
  vectors_ = std::move(spectrum.vectors);
  pull_ = vectors_.transpose() * (span.transposed_times(sites.pull));
}

VectorXd Ridge::root(double s) const {
  return (1 + s * s * values_.array()).sqrt();
}

MatrixXd Ridge::to_w(const MatrixXd& z, double s) const {
  const VectorXd inverse = root(s).cwiseInverse();
  const MatrixXd mean = s * (inverse.cwiseAbs2().asDiagonal() * pull_);
  return vectors_ * (mean + inverse.asDiagonal() * z);
}

MatrixXd Ridge::to_z(const MatrixXd& w, double s) const {
  const VectorXd by = root(s);
  const MatrixXd mean =
      s * (by.cwiseAbs2().cwiseInverse().asDiagonal() * pull_);
  return by.asDiagonal() * (vectors_.transpose() * w - mean);
}

double Ridge::log_volume(double s) const {
  return -static_cast<double>(pull_.cols()) * root(s).array().log().sum();
}

}  // namespace kgs
}  // namespace kernelbayes
