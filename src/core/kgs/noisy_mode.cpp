#include "noisy_mode.hpp"

#include <cmath>
#include <limits>

namespace kernelbayes::kgs {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// The prior of the logit of a rate below a bound; `slope` is its derivative.
double log_rate_prior(const Noise& noise, double rate, double bound,
                      double& slope) {
  const double share = rate / bound;
  slope = (noise.a / rate - (noise.b - 1) / (1 - rate) - 1 / (bound - rate)) *
          rate * (1 - share);
  return noise.a * std::log(rate) + (noise.b - 1) * std::log1p(-rate) +
         std::log1p(-share);
}

Sites sites_at(const NoisyLabels& labels, const MatrixXd& eta,
               const Rates& rates) {
  Sites out;
  double ignored;
  labels.value(eta, rates, out.slope, ignored);
  out.information = labels.information(eta, rates);
  out.eta = eta;
  return out;
}

}  // namespace

double rate_bound(int classes) { return (classes - 1.0) / classes; }

Parameters::Parameters(const NoisyModel& model) : model_(&model) {
  if (model.learns_scale) s_ = size_++;
  if (model.noise.kind != Noise::kFixed) rate_ = size_++;
  if (model.learned) {
    h_ = size_;
    size_ += static_cast<int>(model.learned->design.cols());
  }
}

double Parameters::log_s(const VectorXd& at) const {
  return s_ < 0 ? model_->log_s : at[s_];
}

Rates Parameters::rates(const VectorXd& at) const {
  if (rate_ < 0) return start_rates(model_->noise);
  const double bound = rate_bound(model_->labels.classes());
  const double rate = bound / (1 + std::exp(-at[rate_]));
  return Rates(model_->noise.kind == Noise::kByClass ? 2 : 1, rate);
}

VectorXd Parameters::log_inverse(const VectorXd& at) const {
  if (h_ < 0) return {};
  const LearnedKernel& learned = *model_->learned;
  return learned.offset + learned.design * at.tail(size_ - h_);
}

double Parameters::log_prior(const VectorXd& at, VectorXd& slope) const {
  double out = 0;
  if (s_ >= 0) {
    const double gap = (at[s_] - model_->log_s) / model_->log_s_sd;
    out -= 0.5 * gap * gap;
    slope[s_] -= gap / model_->log_s_sd;
  }
  if (rate_ >= 0) {
    double change;
    out += log_rate_prior(model_->noise, rates(at)[0],
                          rate_bound(model_->labels.classes()), change);
    slope[rate_] += change;
  }
  if (h_ >= 0) {
    out -= 0.5 * at.tail(size_ - h_).squaredNorm();
    slope.tail(size_ - h_) -= at.tail(size_ - h_);
  }
  return out;
}

Span span_at(const NoisyModel& model, const VectorXd& log_inverse) {
  return model.learned ? Span(*model.learned, log_inverse)
                       : Span(model.features);
}

Normals Sites::of_all(const NoisyLabels& labels) const {
  return {information,
          information.cwiseProduct(labels.all_of(eta)) + labels.all_of(slope)};
}

Normals Sites::of_contrasts() const {
  const VectorXd mean =
      information.rowwise().sum() / static_cast<double>(eta.cols());
  return {mean, mean.asDiagonal() * eta + slope};
}

// Steps are halved with more classes: the curvature by contrasts is up to twice
// the information by functions, (G51).
Sites find_sites(const NoisyModel& model, const Span& span, double s,
                 const Rates& rates) {
  constexpr int kSteps = 20;
  constexpr double kLong = 3, kShort = 1e-2;
  const NoisyLabels& labels = model.labels;
  MatrixXd u = MatrixXd::Zero(model.rank(), labels.functions());
  const double root = std::sqrt(static_cast<double>(u.size()));
  for (int k = 0; k < kSteps; ++k) {
    const Sites sites = sites_at(labels, s * span.kernel().times(u), rates);
    const Whitened guess(span, s, sites.of_all(labels));
    const MatrixXd step = labels.contrasts_of(guess.mean()) - u;
    const double length = span.to_w(step).norm();
    const bool half = labels.classes() > 2 || length > kLong * root;
    u += (half ? 0.5 : 1.0) * step;
    if (length < kShort * root) break;
  }
  return sites_at(labels, s * span.kernel().times(u), rates);
}

// (G42) and its derivatives by (G43) and (G44).
double approximate_evidence(const NoisyModel& model, const VectorXd& at,
                            VectorXd& slope) {
  const Parameters parameters(model);
  slope = VectorXd::Zero(parameters.size());
  const double s = std::exp(parameters.log_s(at));
  const Rates rates = parameters.rates(at);
  const Span span = span_at(model, parameters.log_inverse(at));
  if (!span.ok() || !std::isfinite(s)) {
    return -std::numeric_limits<double>::infinity();
  }
  const MatrixXd features = s * span.features();
  const Normals normals = model.sites.of_contrasts();
  const Whitened guess(span, s, normals);
  const MatrixXd w = span.to_w(guess.mean());
  MatrixXd of_eta;
  double of_rate;
  double out = model.labels.value(features * w, rates, of_eta, of_rate) -
               0.5 * w.squaredNorm() + guess.log_volume();
  if (parameters.rate_at() >= 0) {
    const double bound = rate_bound(model.labels.classes());
    slope[parameters.rate_at()] = of_rate * rates[0] * (1 - rates[0] / bound);
  }
  if (parameters.s_at() >= 0 || parameters.h_at() >= 0) {
    const MatrixXd of_w = features.transpose() * of_eta - w;
    const auto covariance_times = [&](const MatrixXd& v) {
      return span.to_w(guess.solve(span.factor_times(v)));
    };
    const MatrixXd back = covariance_times(of_w);
    const MatrixXd inverse =
        covariance_times(MatrixXd::Identity(w.rows(), w.rows()));
    const MatrixXd across = back * w.transpose();
    const MatrixXd of_square = -0.5 * (static_cast<double>(w.cols()) * inverse +
                                       across + across.transpose());
    MatrixXd of_features = features * (2 * of_square);
    of_features = normals.precision.col(0).asDiagonal() * of_features;
    of_features.noalias() += of_eta * w.transpose();
    of_features.noalias() += normals.pull * back.transpose();
    if (parameters.s_at() >= 0) {
      slope[parameters.s_at()] = of_features.cwiseProduct(features).sum();
    }
    if (parameters.h_at() >= 0) {
      slope.tail(parameters.size() - parameters.h_at()) =
          model.learned->design.transpose() *
          span.slope(*model.learned, s * of_features);
    }
  }
  return out + parameters.log_prior(at, slope);
}

}  // namespace kernelbayes::kgs
