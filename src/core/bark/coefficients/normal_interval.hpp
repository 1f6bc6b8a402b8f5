#pragma once

#include <algorithm>
#include <cmath>
#include <kernelbayes/normal_cdf.hpp>

namespace kernelbayes::bark {

/// log P(from < z - f < to), z ~ N(f, 1), at ends that have f subtracted; its
/// derivative by f, and minus the second one, between 0 and 1: (B90).
struct NormalInterval {
  double log_p, first, minus_second;

  NormalInterval(double from, double to) : log_p(log_normal_between(from, to)) {
    const double at_from = density(from), at_to = density(to);
    first = at_from - at_to;
    const double curvature =
        first * first - times(from, at_from) + times(to, at_to);
    minus_second = std::min(std::max(curvature, 0.0), 1.0);
  }

 private:
  // The density at an end over the probability of the interval; 0 at infinity.
  double density(double end) const {
    return std::exp(log_normal_density(end) - log_p);
  }
  static double times(double end, double density) {
    return density > 0 ? end * density : 0;
  }
};

}  // namespace kernelbayes::bark
