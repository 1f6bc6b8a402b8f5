#pragma once

#include <algorithm>
#include <cmath>
#include <kernelbayes/rng.hpp>
#include <stdexcept>

namespace kernelbayes {

/// X - a of a standard normal X > a, for any finite a: what lies beyond the
/// truncation keeps its digits where X itself is a to machine precision.
///
/// In the tail by rejection from an exponential distribution of the best rate
/// (Robert, 1995, Statistics and Computing 5, 121-125), (B75); elsewhere from
/// the normal one. At least 3 in 10 proposals are accepted.
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

/// A draw of N(mean, sd^2) that is positive.
inline double positive_normal(double mean, double sd, Rng& rng) {
  return sd * normal_excess(-mean / sd, rng);
}

/// X - a of a standard normal X, a < X < a + width, both finite, and 2 a +
/// width >= 0: the mean is on the left of the middle.
///
/// Proposals are normal, with what lies below a or beyond, where the interval
/// holds much of it; elsewhere uniform, where the density falls at most by
/// exp(1.5) in the tail, and by exp(3.2) about the mean, (B76). At least 1 in 5
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

/// A draw of N(mean, sd^2) between two points, one of which may be infinite.
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
