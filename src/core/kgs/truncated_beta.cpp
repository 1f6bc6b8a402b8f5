#include "truncated_beta.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace kernelbayes {
namespace kgs {

namespace {

double log_density(double a, double b, double q) {
  return (a - 1) * std::log(q) + (b - 1) * std::log1p(-q);
}

// The log density is concave and rises up to `upper`: its tangent there bounds
// it by an exponential that decreases from there: (G17).
double below_the_mode(double a, double b, double upper, Rng& rng) {
  const double rate = (a - 1) / upper - (b - 1) / (1 - upper);
  const double top = log_density(a, b, upper);
  while (true) {
    const double down = -std::log1p(-rng.uniform()) / rate;
    if (down >= upper) continue;
    const double log_ratio =
        log_density(a, b, upper - down) - top + rate * down;
    if (rng.uniform() < std::exp(log_ratio)) return upper - down;
  }
}

}  // namespace

double truncated_beta(double a, double b, double upper, Rng& rng) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    const double x = rng.gamma(a), y = rng.gamma(b);
    const double q = x / (x + y);
    if (q > 0 && q < upper) return q;
  }
  // If the second derivative is negative at `upper`, it is negative below.
  const bool concave =
      a >= 1 && (a - 1) * (1 - upper) * (1 - upper) >= (1 - b) * upper * upper;
  if (concave && upper < 1 && (a - 1) / upper > (b - 1) / (1 - upper) + 1) {
    return below_the_mode(a, b, upper, rng);
  }
  const double mass = boost::math::ibeta(a, b, upper);
  const double q = boost::math::ibeta_inv(a, b, mass * (1 - rng.uniform()));
  return std::min(std::max(q, 1e-300), upper);
}

}  // namespace kgs
}  // namespace kernelbayes
