#pragma once

#include <cmath>

#include "kernelbayes/rng.hpp"

namespace kernelbayes::kgs {

/// A step of slice sampling in one dimension (Neal, 2003): stepping out, then
/// shrinking.
template <class LogDensity>
double slice(double at, double width, const LogDensity& log_density, Rng& rng) {
  constexpr int kMostSteps = 16, kMostShrinks = 200;
  const double level = log_density(at) + std::log(1 - rng.uniform());
  double low = at - width * rng.uniform(), high = low + width;
  // The number of steps on each side is drawn beforehand.
  int left = static_cast<int>(kMostSteps * rng.uniform());
  int right = kMostSteps - 1 - left;
  while (left-- > 0 && log_density(low) > level) low -= width;
  while (right-- > 0 && log_density(high) > level) high += width;
  for (int k = 0; k < kMostShrinks; ++k) {
    const double to = low + rng.uniform() * (high - low);
    if (log_density(to) > level) return to;
    (to < at ? low : high) = to;
  }
  return at;
}

}  // namespace kernelbayes::kgs
