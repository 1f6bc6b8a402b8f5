#include "noise.hpp"

#include <numeric>

#include "truncated_beta.hpp"

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

}  // namespace kernelbayes::kgs
