#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <kernelbayes/rng.hpp>
#include <vector>

#include "choose.hpp"

namespace kernelbayes {

// Parts of Student's log density.

/// log(Gamma(a + 1 / 2) / Gamma(a)); by the asymptotic series if the difference
/// would cancel.
inline double log_gamma_step(double a) {
  constexpr double kLarge = 1e4;
  if (a < kLarge) return std::lgamma(a + 0.5) - std::lgamma(a);
  return 0.5 * std::log(a) - 1 / (8 * a);
}

/// The sum of log(1 + x) of numbers that are not negative. Logarithms of
/// products cost a fraction; 1 + x alone loses no more than the sum of many
/// does.
inline double sum_log1p(const Eigen::ArrayXd& x) {
  constexpr Eigen::Index kFactors = 8;
  constexpr double kLarge = 1e30;
  double sum = 0;
  for (Eigen::Index i = 0; i < x.size(); i += kFactors) {
    const auto part = x.segment(i, std::min(kFactors, x.size() - i));
    sum += part.maxCoeff() < kLarge ? std::log((1 + part).prod())
                                    : part.log1p().sum();
  }
  return sum;
}

/// The log density of residuals that are Student's t with squared scale 1 /
/// phi.
inline double student_log_likelihood(const Eigen::VectorXd& residuals,
                                     double phi, double df) {
  constexpr double kLogPi = 1.1447298858494001741;
  const auto n = static_cast<double>(residuals.size());
  const double one_row =
      log_gamma_step(df / 2) + 0.5 * (std::log(phi / df) - kLogPi);
  return n * one_row -
         (df + 1) / 2 * sum_log1p(residuals.array().square() * (phi / df));
}

/// Student's noise: its degrees of freedom, and one over its squared scale.
struct StudentNoise {
  double df, precision;
};

/// The noise precision with which the middle of the noise has the same width at
/// other degrees of freedom, up to a factor.
inline double matching_precision(double df) { return 1 + 0.8 / df; }

/// (B78): one of the degrees of freedom `values`, with the precision that
/// matches unless it is `known`, given f. `log_density` is that of the data,
/// row weights integrated out, and of the precision's logarithm.
template <class LogDensity>
StudentNoise draw_student_noise(const std::vector<double>& values,
                                StudentNoise now, bool known,
                                const LogDensity& log_density, Rng& rng) {
  std::vector<StudentNoise> to;
  Eigen::VectorXd log_p(values.size());
  for (const double df : values) {
    StudentNoise next{df, now.precision};
    if (!known) {
      next.precision *= matching_precision(df) / matching_precision(now.df);
    }
    log_p[to.size()] = log_density(next);
    to.push_back(next);
  }
  // The precision may be at a bound, up to rounding.
  if (!std::isfinite(log_p.maxCoeff())) return now;
  const Eigen::VectorXd p = (log_p.array() - log_p.maxCoeff()).exp();
  const int k = choose_weighted(p, p.sum(), rng);
  return k < 0 ? now : to[k];
}

}  // namespace kernelbayes
