#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace kernelbayes {
namespace bark {

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

}  // namespace bark
}  // namespace kernelbayes
