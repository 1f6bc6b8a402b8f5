#include "noisy_labels.hpp"

#include <algorithm>
#include <cmath>
#include <kernelbayes/normal_cdf.hpp>
#include <stdexcept>

namespace kernelbayes {
namespace kgs {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLeast = 1e-300;

double normal_cdf(double x) {
  constexpr double kRootHalf = 0.70710678118654752440;
  return 0.5 * std::erfc(-x * kRootHalf);
}

double normal_density(double x) { return std::exp(log_normal_density(x)); }

// Orthonormal contrasts of Helmert.
MatrixXd helmert(int classes) {
  MatrixXd out = MatrixXd::Zero(classes, classes - 1);
  for (int k = 0; k + 1 < classes; ++k) {
    const double length = std::sqrt((k + 1.0) * (k + 2.0));
    out.col(k).head(k + 1).setConstant(1 / length);
    out(k + 1, k) = -(k + 1) / length;
  }
  return out;
}

}  // namespace

NoisyLabels::NoisyLabels(std::vector<int> label, int classes, VectorXd weight)
    : label_(std::move(label)), classes_(classes), weight_(std::move(weight)) {
  if (classes_ < 2) throw std::invalid_argument("two classes or more");
  for (const int own : label_) {
    if (own < 0 || own >= classes_) {
      throw std::invalid_argument("a label is of no class");
    }
  }
  if (weight_.size() != 0 && weight_.size() != size()) {
    throw std::invalid_argument("one weight per datum");
  }
  if (classes_ > 2) contrasts_ = helmert(classes_);
}

// Two classes: a label is wrong at the rate of the other class.
NoisyLabels::Mixture NoisyLabels::mixture(int datum, const Rates& rates) const {
  if (classes_ > 2) {
    const double other = rates[0] / (classes_ - 1);
    return {other, 1 - rates[0] - other};
  }
  const bool positive = label_[datum] == 1;
  const double base = positive ? rates.front() : rates.back();
  return {base, 1 - rates.front() - rates.back()};
}

VectorXd NoisyLabels::classes_of(
    const Eigen::Ref<const Eigen::RowVectorXd>& eta) const {
  if (classes_ == 2) {
    return Eigen::Vector2d(normal_cdf(-eta[0]), normal_cdf(eta[0]));
  }
  VectorXd out = kGumbel * (contrasts_ * eta.transpose());
  out = (out.array() - out.maxCoeff()).exp();
  return out / out.sum();
}

double NoisyLabels::own(int i, const MatrixXd& eta) const {
  if (classes_ > 2) return classes_of(eta.row(i))[label_[i]];
  return normal_cdf(label_[i] == 1 ? eta(i, 0) : -eta(i, 0));
}

double NoisyLabels::value(const MatrixXd& eta, const Rates& rates) const {
  double out = 0;
  for (int i = 0; i < size(); ++i) {
    const Mixture mix = mixture(i, rates);
    out += weight(i) *
           std::log(std::max(mix.base + mix.gain * own(i, eta), kLeast));
  }
  return out;
}

double NoisyLabels::value(const MatrixXd& eta, const Rates& rates,
                          MatrixXd& slope, double& rate_slope) const {
  double out = 0;
  rate_slope = 0;
  slope.resize(size(), functions());
  const double others = classes_ - 1;
  for (int i = 0; i < size(); ++i) {
    const Mixture mix = mixture(i, rates);
    double share;
    if (classes_ == 2) {
      const double sign = label_[i] == 1 ? 1 : -1, x = sign * eta(i, 0);
      share = normal_cdf(x);
      const double p = std::max(mix.base + mix.gain * share, kLeast);
      // Without wrong labels the ratio tends to -x.
      slope(i, 0) = mix.base == 0 && x < -30
                        ? -x * sign
                        : mix.gain * normal_density(x) / p * sign;
    } else {
      const VectorXd shares = classes_of(eta.row(i));
      share = shares[label_[i]];
      const double p = std::max(mix.base + mix.gain * share, kLeast);
      slope.row(i) =
          (mix.gain * share * kGumbel / p) *
          (contrasts_.row(label_[i]) - shares.transpose() * contrasts_);
    }
    const double p = std::max(mix.base + mix.gain * share, kLeast);
    out += weight(i) * std::log(p);
    rate_slope += weight(i) * ((1 - share) / others - share) / p;
    slope.row(i) *= weight(i);
  }
  return out;
}

VectorXd NoisyLabels::information(const MatrixXd& eta,
                                  const Rates& rates) const {
  constexpr double kSmall = 1e-8, kNearZero = 1e-12;
  VectorXd out(size());
  for (int i = 0; i < size(); ++i) {
    const Mixture mix = mixture(i, rates);
    if (classes_ == 2) {
      const double p = mix.base + mix.gain * own(i, eta);
      const double slope = mix.gain * normal_density(eta(i, 0));
      out[i] = slope * slope / std::max(p * (1 - p), kNearZero);
    } else {
      const VectorXd shares = classes_of(eta.row(i));
      out[i] = std::max(mix.gain, 0.0) * kGumbel * kGumbel *
               (1 - shares.squaredNorm()) / (classes_ - 1);
    }
    out[i] = std::max(weight(i) * out[i], kSmall);
  }
  return out;
}

VectorXd NoisyLabels::wrong(const MatrixXd& eta, const Rates& rates) const {
  VectorXd out(size());
  for (int i = 0; i < size(); ++i) {
    const Mixture mix = mixture(i, rates);
    const double share = own(i, eta);
    const double p = std::max(mix.base + mix.gain * share, kLeast);
    out[i] = mix.base * (1 - share) / p;
  }
  return out;
}

}  // namespace kgs
}  // namespace kernelbayes
