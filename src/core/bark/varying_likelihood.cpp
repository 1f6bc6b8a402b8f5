#include "varying_likelihood.hpp"

#include <cmath>

namespace kernelbayes {
namespace bark {

namespace {

// The part of a normal log density that depends on its precision only.
double log_precisions(const Eigen::ArrayXd& precision) {
  constexpr double kLogTwoPi = 1.83787706640934548356;
  return 0.5 * (precision.log() - kLogTwoPi).sum();
}

}  // namespace

Eigen::ArrayXd exp_minus(const Arithmetic& arithmetic,
                         const Eigen::ArrayXd& t) {
  const Eigen::VectorXd size = t.abs();
  Eigen::MatrixXd small(size.size(), 1);
  arithmetic.exp_minus(size, small);
  return (t > 0).select(small.array().col(0), small.array().col(0).inverse());
}

KnownVariance::KnownVariance(const Data& data)
    : y_(data.y), precision_(data.weights) {
  constant_ = log_precisions(precision_);
}

Eigen::VectorXd KnownVariance::simulate(const Eigen::VectorXd& f,
                                        Rng& rng) const {
  Eigen::VectorXd out = f;
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    out[i] += rng.normal() / std::sqrt(precision_[i]);
  }
  return out;
}

GlmLikelihood::Rows KnownVariance::rows(const Eigen::VectorXd& f) const {
  const Eigen::ArrayXd residual = y_ - f.array();
  const Eigen::ArrayXd first = precision_ * residual;
  return {-0.5 * first * residual, first, precision_};
}

LogVariance::LogVariance(const Data& data)
    : arithmetic_(*data.arithmetic),
      weights_(data.weights),
      half_square_(0.5 * data.weights.array() * data.y.array().square()) {
  constant_ = log_precisions(weights_);
}

Eigen::VectorXd LogVariance::simulate(const Eigen::VectorXd& f,
                                      Rng& rng) const {
  Eigen::VectorXd out(f.size());
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    out[i] = std::exp(0.5 * f[i]) / std::sqrt(weights_[i]) * rng.normal();
  }
  return out;
}

GlmLikelihood::Rows LogVariance::rows(const Eigen::VectorXd& f) const {
  const Eigen::ArrayXd part = half_square_ * exp_minus(arithmetic_, f.array());
  return {-0.5 * f.array() - part, part - 0.5, part};
}

}  // namespace bark
}  // namespace kernelbayes
