#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic.hpp"

namespace kernelbayes {

/// P(X <= x), or P(X >= x), and the density.
struct Tail {
  double probability = 0, density = 0;
};

/// Sums of weight Phi(x) and height exp(-x^2 / 2) / sqrt(2 pi), of up to `most`
/// terms at once.
class NormalSums {
 public:
  explicit NormalSums(Eigen::Index most)
      : x(most), weight(most), height(most), cdf_(most), bell_(most) {}
  Eigen::VectorXd x, weight, height;

  /// The first n.
  void add_to(Tail& sum, Eigen::Index n) {
    constexpr double kInverseRootTwoPi = 0.39894228040143267794;
    Arithmetic::best().normal(x.head(n), cdf_.head(n), bell_.head(n));
    sum.probability += weight.head(n).dot(cdf_.head(n));
    sum.density += kInverseRootTwoPi * height.head(n).dot(bell_.head(n));
  }

 private:
  Eigen::VectorXd cdf_, bell_;
};

/// The point where the smaller tail (the lower one for sign = 1) has
/// probability `target`, between `lower` and `upper`: Newton steps on the
/// tail's log, bisection if they leave the bracket or do not halve it. Stops
/// when the log is within `close`, after one more step. `density` is called
/// after `tail`, at the same point.
template <typename Tail, typename Density>
double tail_quantile(double lower, double upper, double start, double target,
                     double sign, double close, Tail tail, Density density) {
  double x = std::min(std::max(start, lower), upper), step = upper - lower;
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double probability = tail(x);
    const double excess = std::log(probability / target);
    if (excess == 0) return x;
    (excess * sign > 0 ? upper : lower) = x;
    double next = x - sign * excess * probability / density(x);
    const bool inside = next > lower && next < upper;
    if (std::abs(excess) < close) return inside ? next : x;
    if (!inside || std::abs(next - x) > 0.5 * step) {
      next = 0.5 * (lower + upper);
    }
    const double tolerance = 1e-12 * (std::abs(next) + upper - lower);
    if (upper - lower <= tolerance) return next;
    // A short step proves nothing: inside a point mass every step is short.
    if (std::abs(next - x) < tolerance) {
      next = x + std::copysign(tolerance, next - x);
    }
    step = std::abs(next - x);
    x = next;
  }
  return x;
}

/// A mixture of n normals, e.g. the predictive distribution at one point.
struct NormalMixture {
  int n;
  const double* weights;  // sum to one
  const double* means;
  const double* sds;

  /// P(X <= x), or P(X >= x) for sign = -1: no digits are lost in either tail.
  double tail(double x, double sign) const {
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      const double r = sign * (means[i] - x) / sds[i];
      sum += weights[i] * std::erfc(r * kInverseRootTwo);
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

  /// The p-quantile; `z` is that of the standard normal. It lies between the
  /// p-quantiles of the components.
  double quantile(double p, double z) const {
    const double sign = z < 0 ? 1 : -1, target = z < 0 ? p : 1 - p;
    double lower = std::numeric_limits<double>::infinity(), upper = -lower;
    double centre = 0;
    for (int i = 0; i < n; ++i) {
      const double own = means[i] + z * sds[i];
      lower = std::min(lower, own);
      upper = std::max(upper, own);
      centre += weights[i] * own;
    }
    return tail_quantile(
        lower, upper, centre, target, sign, 1e-10,
        [&](double x) { return tail(x, sign); },
        [&](double x) { return density(x); });
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
