#pragma once

#include <cmath>

namespace kernelbayes {

/// log Phi(x) to about 1e-13, relative, in both tails.
inline double log_normal_cdf(double x) {
  constexpr double kRootHalf = 0.70710678118654752440;
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  if (x > 0) return std::log1p(-0.5 * std::erfc(x * kRootHalf));
  // Where erfc() underflows, the asymptotic series.
  constexpr double kFar = -37;
  if (x > kFar) return std::log(0.5 * std::erfc(-x * kRootHalf));
  const double s = 1 / (x * x);
  return -0.5 * x * x - std::log(-x) - kHalfLogTwoPi +
         std::log1p(-s * (1 - 3 * s * (1 - 5 * s)));
}

}  // namespace kernelbayes
