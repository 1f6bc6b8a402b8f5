#pragma once

#include <algorithm>
#include <cmath>
#include <kernelbayes/rng.hpp>
#include <stdexcept>

namespace kernelbayes {

/// X - a for a standard normal X > a, for any finite a: the excess keeps its
/// digits even if X itself equals a to machine precision.
///
/// In the tail by rejection from an exponential distribution with the best rate
/// (Robert, 1995, Statistics and Computing 5, 121-125), (B75); elsewhere from
/// the normal distribution. At least 3 in 10 proposals are accepted.
inline double normal_excess(double a, Rng& rng) {
  if (!std::isfinite(a)) throw std::domain_error("no finite truncation point");
  constexpr double kTail = 0.5;
  if (a < kTail) {
    double x;
    do x = rng.normal();
    while (x <= a);
    return x - a;
  }
  const double root = std::sqrt(a * a + 4);
  const double rate = (a + root) / 2;
  const double best = 2 / (a + root);  // rate - a without cancellation
  while (true) {
    const double excess = -std::log1p(-rng.uniform()) / rate;
    const double off = excess - best;
    if (rng.uniform() < std::exp(-0.5 * off * off)) return excess;
  }
}

/// A draw from N(mean, sd^2) truncated to positive values.
inline double positive_normal(double mean, double sd, Rng& rng) {
  return sd * normal_excess(-mean / sd, rng);
}

/// X - a for a standard normal X with a < X < a + width, both finite, and 2 a +
/// width >= 0: the mean is left of the middle.
///
/// Proposals are from the normal truncated below at a, if the interval has much
/// of its mass; otherwise uniform, and the density then falls by at most
/// exp(1.5) in the tail, and exp(3.2) around the mean, (B76). At least 1 in 5
/// are accepted.
inline double normal_excess_within(double a, double width, Rng& rng) {
  constexpr double kNarrow = 2.5;
  const double rate = a > 0 ? (a + std::sqrt(a * a + 4)) / 2 : 0;
  if (a > 0 ? width * rate > 1 : width > kNarrow) {
    double excess;
    do excess = normal_excess(a, rng);
    while (excess > width);
    return excess;
  }
  while (true) {
    const double excess = width * rng.uniform(), x = a + excess;
    // From where the density is highest: a, or the mean.
    const double fall = a > 0 ? excess * (x + a) : x * x;
    if (rng.uniform() < std::exp(-0.5 * fall)) return excess;
  }
}

/// A draw from N(mean, sd^2) between two points, one of which may be infinite.
inline double normal_between(double mean, double sd, double lower, double upper,
                             Rng& rng) {
  const double from = (lower - mean) / sd, to = (upper - mean) / sd;
  if (std::isinf(upper)) return lower + sd * normal_excess(from, rng);
  if (std::isinf(lower)) return upper - sd * normal_excess(-to, rng);
  const double width = (upper - lower) / sd;
  if (from + to >= 0) {
    return std::min(lower + sd * normal_excess_within(from, width, rng), upper);
  }
  return std::max(upper - sd * normal_excess_within(-to, width, rng), lower);
}

}  // namespace kernelbayes
