#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "constants.hpp"

namespace kernelbayes {

/// log phi(x).
inline double log_normal_density(double x) {
  return -0.5 * x * x - kHalfLogTwoPi;
}

/// log Phi(x) to about 1e-13, relative, in both tails.
inline double log_normal_cdf(double x) {
  constexpr double kRootHalf = 0.70710678118654752440;
  if (x > 0) return std::log1p(-0.5 * std::erfc(x * kRootHalf));
  // The asymptotic series, if erfc() underflows.
  constexpr double kFar = -37;
  if (x > kFar) return std::log(0.5 * std::erfc(-x * kRootHalf));
  const double s = 1 / (x * x);
  return log_normal_density(x) - std::log(-x) +
         std::log1p(-s * (1 - 3 * s * (1 - 5 * s)));
}

/// log(Phi(to) - Phi(from)) for from <= to, which may be infinite, to about
/// 1e-8, and to 1e-13 unless both are on one side and close together.
inline double log_normal_between(double from, double to) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (to == kInfinity) return log_normal_cdf(-from);
  if (from == -kInfinity) return log_normal_cdf(to);
  constexpr double kRootHalf = 0.70710678118654752440;
  if (from <= 0 && to >= 0) {  // a sum of two positive numbers
    return std::log(0.5 *
                    (std::erf(to * kRootHalf) - std::erf(from * kRootHalf)));
  }
  const double near = std::min(std::abs(from), std::abs(to));
  const double far = std::max(std::abs(from), std::abs(to));
  // So narrow that the density changes little.
  constexpr double kNarrow = 1e-5;
  const double width = to - from, middle = near + width / 2;
  if (width * std::max(middle, 1.0) < kNarrow) {
    return std::log(width) + log_normal_density(middle);
  }
  const double most = log_normal_cdf(-near);
  return most + std::log(-std::expm1(log_normal_cdf(-far) - most));
}

}  // namespace kernelbayes
