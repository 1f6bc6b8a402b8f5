#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernelbayes {

/// A mixture of n normals, e.g. the predictive distribution at one point.
struct NormalMixture {
  int n;
  const double* weights;  // sum to one
  const double* means;
  const double* sds;

  double cdf(double x) const {
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      sum += weights[i] * std::erfc((means[i] - x) / sds[i] * kInverseRootTwo);
    }
    return 0.5 * sum;
  }

  double density(double x) const {
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      const double r = (x - means[i]) / sds[i];
      sum += weights[i] / sds[i] * std::exp(-0.5 * r * r);
    }
    return sum * kInverseRootTwoPi;
  }

  double log_density(double x) const {
    // Shifted by the largest term: far in the tail every term underflows.
    double largest = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < n; ++i) largest = std::max(largest, log_term(i, x));
    if (!std::isfinite(largest)) return largest;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::exp(log_term(i, x) - largest);
    return largest + std::log(sum * kInverseRootTwoPi);
  }

  /// The p-quantile, where `z` is that of the standard normal: it lies
  /// between the components' own. Newton steps, bisection where they leave
  /// the bracket.
  double quantile(double p, double z) const {
    double lower = std::numeric_limits<double>::infinity(), upper = -lower;
    double centre = 0;
    for (int i = 0; i < n; ++i) {
      const double own = means[i] + z * sds[i];
      lower = std::min(lower, own);
      upper = std::max(upper, own);
      centre += weights[i] * own;
    }
    double x = std::min(std::max(centre, lower), upper);
    for (int iteration = 0; iteration < 200; ++iteration) {
      const double excess = cdf(x) - p;
      if (excess == 0) return x;
      (excess > 0 ? upper : lower) = x;
      double next = x - excess / density(x);
      if (!(next > lower && next < upper)) next = 0.5 * (lower + upper);
      const double tolerance = 1e-12 * (std::abs(next) + upper - lower);
      if (std::abs(next - x) <= tolerance || upper - lower <= tolerance) {
        return next;
      }
      x = next;
    }
    return x;
  }

 private:
  static constexpr double kInverseRootTwo = 0.70710678118654752440;
  static constexpr double kInverseRootTwoPi = 0.39894228040143267794;

  double log_term(int i, double x) const {
    const double r = (x - means[i]) / sds[i];
    return std::log(weights[i] / sds[i]) - 0.5 * r * r;
  }
};

}  // namespace kernelbayes
