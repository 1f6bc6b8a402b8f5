#include "noisy_labels.hpp"

#include <algorithm>
#include <cmath>
#include <kernelbayes/normal_cdf.hpp>
#include <stdexcept>

namespace kernelbayes::kgs {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kLeast = 1e-300;

constexpr double kNormalHeight = 0.39894228040143267794;  // 1 / sqrt(2 pi)

// One logarithm for eight numbers where their product is far from underflow.
double sum_of_logs(const VectorXd& p) {
  constexpr Eigen::Index kMany = 8;
  constexpr double kFar = 1e-280;
  double out = 0;
  Eigen::Index i = 0;
  for (; i + kMany <= p.size(); i += kMany) {
    const double* v = p.data() + i;
    const double product =
        ((v[0] * v[1]) * (v[2] * v[3])) * ((v[4] * v[5]) * (v[6] * v[7]));
    if (product > kFar) {
      out += std::log(product);
    } else {
      for (Eigen::Index k = 0; k < kMany; ++k) out += std::log(v[k]);
    }
  }
  for (; i < p.size(); ++i) out += std::log(p[i]);
  return out;
}

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
  if (classes_ > 2) {
    contrasts_ = helmert(classes_);
    return;
  }
  sign_.resize(size());
  for (int i = 0; i < size(); ++i) sign_[i] = label_[i] == 1 ? 1 : -1;
}

// Two classes: a label is wrong at the rate of the other class.
NoisyLabels::Mixture NoisyLabels::mixture(int label, const Rates& rates) const {
  if (classes_ > 2) {
    const double other = rates[0] / (classes_ - 1);
    return {other, 1 - rates[0] - other};
  }
  const double base = label == 1 ? rates.front() : rates.back();
  return {base, 1 - rates.front() - rates.back()};
}

MatrixXd NoisyLabels::all_of(const MatrixXd& functions) const {
  if (classes_ == 2) return functions;
  return functions * contrasts_.transpose();
}

MatrixXd NoisyLabels::contrasts_of(const MatrixXd& all) const {
  if (classes_ == 2) return all;
  return all * contrasts_;
}

// Probabilities of classes with noise, without wrong labels.
MatrixXd NoisyLabels::softmax(const MatrixXd& eta) const {
  MatrixXd out = eta * (-kGumbel * contrasts_.transpose());
  VectorXd least = out.col(0);
  for (int c = 1; c < classes_; ++c) least = least.cwiseMin(out.col(c));
  out.colwise() -= least;
  Arithmetic::best().exp_minus(out, out);
  VectorXd sum = out.col(0);
  for (int c = 1; c < classes_; ++c) sum += out.col(c);
  return sum.cwiseInverse().asDiagonal() * out;
}

VectorXd NoisyLabels::own(const MatrixXd& classes) const {
  VectorXd out(size());
  for (int i = 0; i < size(); ++i) out[i] = classes(i, label_[i]);
  return out;
}

VectorXd NoisyLabels::margins(const MatrixXd& eta) const {
  return sign_.cwiseProduct(eta.col(0));
}

VectorXd NoisyLabels::shares(const MatrixXd& eta) const {
  if (classes_ > 2) return own(softmax(eta));
  VectorXd out(size()), ignored(size());
  Arithmetic::best().normal(margins(eta), out, ignored);
  return out;
}

VectorXd NoisyLabels::probabilities(const VectorXd& shares,
                                    const Rates& rates) const {
  const Mixture one = mixture(classes_ - 1, rates), other = mixture(0, rates);
  VectorXd out = one.gain * shares;
  if (one.base == other.base) {
    out.array() += one.base;
  } else {
    out += (sign_.array() > 0)
               .select(one.base, VectorXd::Constant(size(), other.base));
  }
  return out.cwiseMax(kLeast);
}

double NoisyLabels::value_of(const VectorXd& shares, const Rates& rates) const {
  return sum_of_logs_by_weight(probabilities(shares, rates));
}

double NoisyLabels::sum_of_logs_by_weight(const VectorXd& p) const {
  if (weight_.size() > 0) return weight_.dot(p.array().log().matrix());
  return sum_of_logs(p);
}

double NoisyLabels::value(const MatrixXd& eta, const Rates& rates) const {
  const VectorXd p = probabilities(shares(eta), rates);
  return sum_of_logs_by_weight(p) + below_floor(eta, p, rates);
}

// A label that cannot be wrong, of a probability near the floor or below.
bool NoisyLabels::is_remote(int datum, double margin,
                            const Rates& rates) const {
  return margin < -30 && mixture(label_[datum], rates).base == 0;
}

// What the floor adds to logarithms: the slope does not know of it.
double NoisyLabels::below_floor(const MatrixXd& eta, const VectorXd& p,
                                const Rates& rates) const {
  if (classes_ > 2 || (rates.front() != 0 && rates.back() != 0)) return 0;
  const VectorXd x = margins(eta);
  double out = 0;
  for (int i = 0; i < size(); ++i) {
    if (!is_remote(i, x[i], rates)) continue;
    const double log_gain = std::log(mixture(label_[i], rates).gain);
    out += weight(i) * (log_gain + log_normal_cdf(x[i]) - std::log(p[i]));
  }
  return out;
}

double NoisyLabels::value(const MatrixXd& eta, const Rates& rates,
                          MatrixXd& slope, double& rate_slope) const {
  slope.resize(size(), functions());
  const double gain = mixture(0, rates).gain;
  VectorXd share(size()), p;
  if (classes_ == 2) {
    const VectorXd x = margins(eta);
    VectorXd bell(size());
    Arithmetic::best().normal(x, share, bell);
    p = probabilities(share, rates);
    slope = (gain * kNormalHeight) *
            (sign_.array() * bell.array() / p.array()).matrix();
    if (rates.front() == 0 || rates.back() == 0) {
      // Without wrong labels the ratio tends to -x.
      for (int i = 0; i < size(); ++i) {
        if (is_remote(i, x[i], rates)) {
          slope(i, 0) = -x[i] * sign_[i];
        }
      }
    }
  } else {
    MatrixXd classes = softmax(eta);
    share = own(classes);
    p = probabilities(share, rates);
    for (int i = 0; i < size(); ++i) classes(i, label_[i]) -= 1;
    const VectorXd by = -gain * kGumbel * share.cwiseQuotient(p);
    slope = by.asDiagonal() * (classes * contrasts_);
  }
  const double others = classes_ - 1;
  const VectorXd of_rate =
      ((1 - share.array()) / others - share.array()) / p.array();
  const bool weighted = weight_.size() > 0;
  rate_slope = weighted ? weight_.dot(of_rate) : of_rate.sum();
  if (weighted) slope = weight_.asDiagonal() * slope;
  return sum_of_logs_by_weight(p) + below_floor(eta, p, rates);
}

MatrixXd NoisyLabels::information(const MatrixXd& eta,
                                  const Rates& rates) const {
  constexpr double kSmall = 1e-8, kNearZero = 1e-12;
  MatrixXd out(size(), all_functions());
  if (classes_ == 2) {
    VectorXd share(size()), bell(size());
    Arithmetic::best().normal(margins(eta), share, bell);
    const VectorXd p = probabilities(share, rates);
    const double height = mixture(0, rates).gain * kNormalHeight;
    out = (height * bell.array()).square() /
          (p.array() * (1 - p.array())).max(kNearZero);
  } else {
    const MatrixXd classes = softmax(eta);
    const Mixture mix = mixture(0, rates);
    const auto squares = classes.array().square();
    const MatrixXd by_label =
        squares / (mix.base + mix.gain * classes.array()).max(kNearZero);
    const VectorXd sum = by_label.rowwise().sum();
    const double scale = mix.gain * mix.gain * kGumbel * kGumbel;
    for (int c = 0; c < classes_; ++c) {
      const auto p = classes.col(c).array(), q = by_label.col(c).array();
      out.col(c) =
          scale * (q * (1 - p).square() + p.square() * (sum.array() - q));
    }
  }
  if (weight_.size() > 0) out = weight_.asDiagonal() * out;
  return out.cwiseMax(kSmall);
}

VectorXd NoisyLabels::wrong(const MatrixXd& eta, const Rates& rates) const {
  const VectorXd share = shares(eta);
  VectorXd out = probabilities(share, rates);
  for (int i = 0; i < size(); ++i) {
    out[i] = mixture(label_[i], rates).base * (1 - share[i]) / out[i];
  }
  return out;
}

}  // namespace kernelbayes::kgs
