#pragma once

#include <cmath>
#include <kernelbayes/rng.hpp>

namespace kernelbayes::bark {

/// The angles of elliptical slice sampling (Murray, Adams and MacKay, 2010):
/// `take(cos, sin)` moves to the point at an angle if it is in the slice, and
/// says so. False if no angle was found; the state then stays.
template <class Take>
bool slice_ellipse(Take take, Rng& rng) {
  constexpr double kTwoPi = 6.28318530717958647692;
  constexpr int kTries = 60;
  double angle = kTwoPi * rng.uniform(), low = angle - kTwoPi, high = angle;
  for (int i = 0; i < kTries; ++i) {
    if (take(std::cos(angle), std::sin(angle))) return true;
    (angle < 0 ? low : high) = angle;
    angle = low + (high - low) * rng.uniform();
  }
  return false;
}

}  // namespace kernelbayes::bark
