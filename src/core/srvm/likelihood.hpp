#pragma once

#include <algorithm>
#include <cmath>

#include "kernelbayes/constants.hpp"
#include "particle.hpp"

namespace kernelbayes::srvm {

/// The marginal likelihood of a set as a function of z'z, the part that its
/// coefficients explain. The factor is that of A = gain * G + ridge * I, (S6).
///
/// Plain form: beta ~ N(0, coef I) given psi = (noise, coef); gain is 1 / noise
/// and log L grows by half of the gain of z'z, (S7).
///
/// Scaled form: beta ~ N(0, noise coef I) with the noise integrated out,
/// noise ~ IG(a, b); gain is 1 and, with R = y'y - z'z after n rows,
///   L = const |coef A|^(-1/2) (b + R / 2)^-(a + n / 2), (S8).
class Likelihood {
 public:
  Likelihood() = default;

  /// For a particle whose factor contains `rows` responses, with sum of squares
  /// `squares`.
  Likelihood(const Particle& particle, const Model& model, double rows,
             double squares)
      : scaled_(model.scaled),
        gain_(model.scaled ? 1 : 1 / particle.noise),
        ridge_(1 / particle.coef) {
    if (!scaled_) return;
    shape_ = model.noise.shape + 0.5 * rows;
    least_ = 2 * model.noise.scale;
    spread_ = least_ + residual_squares(particle, model, squares);
  }

  double gain() const { return gain_; }
  double ridge() const { return ridge_; }

  /// The change of log L when z'z grows by `more`: (S9).
  double explain(double more) const {
    if (!scaled_) return 0.5 * more;
    return -shape_ * std::log(std::max(spread_ - more, least_) / spread_);
  }

  /// The log of the integral of N(y | f, noise)^power over f, whose mean is
  /// `residual` away from y and whose variance is `variance` (in the scaled
  /// form in units of the noise, which is integrated out), if the set explains
  /// `more` than the particle's, (S13) or (S14): with power 1 the predictive
  /// density of a response.
  double row(double power, double residual, double variance,
             double more = 0) const {
    const double spread = std::max(spread_ - more, least_);
    const double precision = power * gain_;
    const double scale = 1 + precision * variance;
    const double misfit = precision * residual * residual / scale;
    const double log_volume = -0.5 * std::log(scale) - power * kHalfLogTwoPi;
    if (!scaled_) {
      return log_volume + 0.5 * (power * std::log(gain_) - misfit);
    }
    const double shape = shape_ + 0.5 * power;
    return log_volume + std::lgamma(shape) - std::lgamma(shape_) -
           0.5 * power * std::log(0.5 * spread) -
           shape * std::log1p(misfit / spread);
  }

  /// E[noise sd | S, coef, y]; in the plain form, given the noise.
  static double noise_sd(const Particle& particle, const Model& model,
                         double rows, double squares) {
    if (!model.scaled) return std::sqrt(particle.noise);
    const double shape = model.noise.shape + 0.5 * rows;
    const double scale =
        model.noise.scale + 0.5 * residual_squares(particle, model, squares);
    return std::sqrt(scale) *
           std::exp(std::lgamma(shape - 0.5) - std::lgamma(shape));
  }

  /// Scaled form: y'y - z'z, with the prior's pull on a shifted intercept.
  static double residual_squares(const Particle& particle, const Model& model,
                                 double squares) {
    for (const double z : particle.factor.z()) squares -= z * z;
    return std::max(squares + model.shift * model.shift / particle.coef, 0.0);
  }

 private:
  bool scaled_ = false;
  double gain_ = 1, ridge_ = 1;
  double shape_ = 0, spread_ = 0, least_ = 0;
};

}  // namespace kernelbayes::srvm
