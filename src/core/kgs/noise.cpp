#include "noise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernelbayes::kgs {

Rates start_rates(const Noise& noise) {
  if (noise.kind == Noise::kFixed) return {noise.rate};
  if (noise.kind == Noise::kRate) return {0.1};
  return {0.1, 0.1};
}

// (G2), (G3): if f is on the side of the label's class, the label is right with
// probability 1 - rate of that class; otherwise it is wrong with the rate of
// the other class.
Costs costs_of(const Noise& noise, const Rates& rates, int classes) {
  if (noise.kind != Noise::kByClass) {
    return Costs(classes, cost_of_rate(rates[0], classes));
  }
  return {std::log((1 - rates[0]) / rates[1]),
          std::log((1 - rates[1]) / rates[0])};
}

// (G15), (G16).
void draw_rates(const Noise& noise, const std::vector<int>& wrong,
                const std::vector<int>& total, Rates& rates, Rng& rng) {
  if (noise.kind == Noise::kFixed) return;
  if (noise.kind == Noise::kRate) {
    const int errors = std::accumulate(wrong.begin(), wrong.end(), 0);
    const int n = std::accumulate(total.begin(), total.end(), 0);
    const double classes = static_cast<double>(total.size());
    rates[0] = truncated_beta(noise.a + errors, noise.b + n - errors,
                              (classes - 1) / classes, rng);
    return;
  }
  for (int c = 0; c < 2; ++c) {
    // Data with f of class c have its label or, wrongly, the other one.
    rates[c] =
        truncated_beta(noise.a + wrong[1 - c], noise.b + total[c] - wrong[c],
                       1 - rates[1 - c], rng);
  }
}

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

double beta(double a, double b, Rng& rng) {
  const double x = rng.gamma(a);
  return x / (x + rng.gamma(b));
}

// The other factor of the density, largest at 0 or at `upper`, thins out draws
// of density proportional to q^(a - 1): below (G17). Proposals of the whole
// beta distribution in turn with these: where few of the ones are kept, many of
// the others are.
double by_power(double a, double b, double upper, Rng& rng) {
  const double largest = std::max(0.0, (b - 1) * std::log1p(-upper));
  while (true) {
    const double q = upper * std::pow(rng.uniform(), 1 / a);
    const double log_ratio = (b - 1) * std::log1p(-q) - largest;
    if (rng.uniform() < std::exp(log_ratio)) return std::max(q, 1e-300);
    const double whole = beta(a, b, rng);
    if (whole > 0 && whole < upper) return whole;
  }
}

}  // namespace

double truncated_beta(double a, double b, double upper, Rng& rng) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    const double q = beta(a, b, rng);
    if (q > 0 && q < upper) return q;
  }
  // If the second derivative is negative at `upper`, it is negative below.
  const bool concave =
      a >= 1 && (a - 1) * (1 - upper) * (1 - upper) >= (1 - b) * upper * upper;
  if (concave && upper < 1 && (a - 1) / upper > (b - 1) / (1 - upper) + 1) {
    return below_the_mode(a, b, upper, rng);
  }
  return by_power(a, b, upper, rng);
}

}  // namespace kernelbayes::kgs
