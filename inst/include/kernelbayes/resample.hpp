#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "rng.hpp"

namespace kernelbayes {

/// A resampling scheme: how often each particle is copied. `weights` are
/// normalised; the counts sum to `n` and have expectation n * weights.
using ResamplingScheme = std::vector<int> (*)(const std::vector<double>&, int,
                                              Rng&);

namespace resampling {

/// Counts from sorted points in [0, 1): point i falls in the cell of one
/// particle. The last cell with weight takes the points left over by rounding.
template <typename Point>
std::vector<int> invert(const std::vector<double>& weights, int n,
                        Point point) {
  std::vector<int> counts(weights.size(), 0);
  std::size_t cell = 0, last = weights.size() - 1;
  while (last > 0 && !(weights[last] > 0)) --last;
  double upper = weights[0];
  for (int i = 0; i < n; ++i) {
    const double u = point(i);
    while (u >= upper && cell < last) upper += weights[++cell];
    ++counts[cell];
  }
  return counts;
}

/// n independent draws, sorted by normalised exponential spacings.
inline std::vector<int> multinomial(const std::vector<double>& weights, int n,
                                    Rng& rng) {
  std::vector<double> points(n);
  double sum = 0;
  for (auto& p : points) p = (sum -= std::log1p(-rng.uniform()));
  sum -= std::log1p(-rng.uniform());
  return invert(weights, n, [&](int i) { return points[i] / sum; });
}

/// One point in each of n equal strata (Kitagawa, 1996).
inline std::vector<int> stratified(const std::vector<double>& weights, int n,
                                   Rng& rng) {
  return invert(weights, n, [&](int i) { return (i + rng.uniform()) / n; });
}

/// One common offset for all strata (Carpenter, Clifford and Fearnhead, 1999).
inline std::vector<int> systematic(const std::vector<double>& weights, int n,
                                   Rng& rng) {
  const double offset = rng.uniform();
  return invert(weights, n, [&](int i) { return (i + offset) / n; });
}

/// floor(n w) copies of each, the rest multinomial (Liu and Chen, 1998).
inline std::vector<int> residual(const std::vector<double>& weights, int n,
                                 Rng& rng) {
  std::vector<int> counts(weights.size());
  std::vector<double> rest(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // Whole numbers stay whole: 49 * (1.0 / 49) is below 1.
    const double expected = n * weights[i];
    counts[i] = static_cast<int>(std::floor(expected * (1 + 1e-14)));
    rest[i] = std::max(expected - counts[i], 0.0);
  }
  const int left = n - std::accumulate(counts.begin(), counts.end(), 0);
  if (left <= 0) return counts;
  const double total = std::accumulate(rest.begin(), rest.end(), 0.0);
  for (auto& r : rest) r /= total;
  const std::vector<int> extra = multinomial(rest, left, rng);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += extra[i];
  return counts;
}

/// n w rounded up or down, with the least possible variance and as little
/// randomness as the expectation n w allows (Crisan and Lyons, 2002; Bain and
/// Crisan, 2009, section 9.2.1). Particle by particle, the remaining offspring
/// are divided between it and the particles that follow, each side getting the
/// whole part of its expectation and at most one more: (T5).
inline std::vector<int> minimum_entropy(const std::vector<double>& weights,
                                        int n, Rng& rng) {
  const std::size_t size = weights.size();
  std::vector<double> after(size, 0.0);
  for (std::size_t i = size - 1; i > 0; --i) {
    after[i - 1] = after[i] + n * weights[i];
  }
  std::vector<int> counts(size, 0);
  std::size_t last = size - 1;
  while (last > 0 && !(weights[last] > 0)) --last;
  int left = n;
  for (std::size_t i = 0; i < last && left > 0; ++i) {
    const double a = n * weights[i], b = after[i];
    const double whole = std::floor(a * (1 + 1e-14));  // as in `residual`
    const double fa = std::max(a - whole, 0.0), fb = b - std::floor(b);
    const int extra = left - static_cast<int>(whole + std::floor(b));
    bool one_more = extra > 1;
    if (extra == 1) {
      const double p = fa + fb < 1 ? fa / (fa + fb) : (1 - fb) / (2 - fa - fb);
      one_more = rng.uniform() < p;
    }
    counts[i] = static_cast<int>(whole) + (one_more && fa > 0);
    left -= counts[i] = std::min(counts[i], left);
  }
  counts[last] += left;
  return counts;
}

/// All schemes by name: a new scheme is a function and a line here.
inline const std::map<std::string, ResamplingScheme>& registry() {
  static const std::map<std::string, ResamplingScheme> schemes = {
      {"minimum-entropy", minimum_entropy},
      {"multinomial", multinomial},
      {"residual", residual},
      {"stratified", stratified},
      {"systematic", systematic}};
  return schemes;
}

inline ResamplingScheme scheme(const std::string& name) {
  const auto found = registry().find(name);
  if (found == registry().end()) {
    throw std::invalid_argument("unknown resampling scheme: " + name);
  }
  return found->second;
}

/// Ancestors in an order that leaves every survivor in place, so that only
/// copies move. There are as many as the counts sum to: if that is fewer than
/// the particles, survivors beyond the last place move too.
inline std::vector<int> ancestors_in_place(std::vector<int> counts) {
  const int size = static_cast<int>(counts.size());
  const int n = std::accumulate(counts.begin(), counts.end(), 0);
  std::vector<int> ancestors(n);
  int donor = 0;
  for (int i = 0; i < n; ++i) {
    if (i < size && counts[i] > 0) {
      ancestors[i] = i;
      --counts[i];
    } else {
      ancestors[i] = -1;
    }
  }
  for (int i = 0; i < n; ++i) {
    if (ancestors[i] >= 0) continue;
    while (counts[donor] == 0) ++donor;
    ancestors[i] = donor;
    --counts[donor];
  }
  return ancestors;
}

}  // namespace resampling
}  // namespace kernelbayes
