#include "core/mixing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace kernelbayes::mixing {

namespace {

// Numbers of draws are exact in a double.
double real(std::size_t n) { return static_cast<double>(n); }

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The halves of chains as chains; with an odd number of draws the middle one is
// left out.
struct Halves {
  std::vector<double> draws;
  std::size_t length, number;
};

Halves halves_of(const Chains& chains) {
  Halves out{{}, chains.length / 2, 2 * chains.number};
  out.draws.reserve(out.length * out.number);
  for (std::size_t k = 0; k < chains.number; ++k) {
    const double* first = chains.draws + k * chains.length;
    const double* last = first + chains.length;
    out.draws.insert(out.draws.end(), first, first + out.length);
    out.draws.insert(out.draws.end(), last - out.length, last);
  }
  return out;
}

// Replaces draws by the scores of their ranks; ties get the mean rank.
void to_scores(std::vector<double>& draws, const std::vector<double>& scores) {
  std::vector<std::size_t> order(draws.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return draws[a] < draws[b]; });
  std::vector<double> out(draws.size());
  for (std::size_t i = 0, j = 0; i < order.size(); i = j) {
    while (j < order.size() && draws[order[j]] == draws[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) out[order[k]] = scores[i + j - 1];
  }
  draws = std::move(out);
}

// Subtracts the mean of each chain and returns the means.
std::vector<double> centre(Halves& halves) {
  std::vector<double> means;
  for (std::size_t k = 0; k < halves.number; ++k) {
    const auto first = halves.draws.begin() + k * halves.length;
    const auto last = first + halves.length;
    const double mean = std::accumulate(first, last, 0.0) / real(halves.length);
    for (auto at = first; at != last; ++at) *at -= mean;
    means.push_back(mean);
  }
  return means;
}

double variance(const std::vector<double>& v) {
  const double n = real(v.size());
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  double sum = 0;
  for (const double x : v) sum += (x - mean) * (x - mean);
  return sum / (n - 1);
}

// Autocovariance of centred chains at a lag, averaged over chains.
double autocovariance(const Halves& halves, std::size_t lag) {
  double sum = 0;
  for (std::size_t k = 0; k < halves.number; ++k) {
    const double* first = halves.draws.data() + k * halves.length;
    sum += std::inner_product(first + lag, first + halves.length, first, 0.0);
  }
  return sum / real(halves.draws.size());
}

// (B77).
double rhat(Halves halves) {
  const double n = real(halves.length);
  const double between = n * variance(centre(halves));
  const double within = autocovariance(halves, 0) * n / (n - 1);
  // Rounding makes the variance of equal numbers positive.
  if (within < 1e-12) return std::numeric_limits<double>::infinity();
  return std::sqrt((between / within + n - 1) / n);
}

// The sum of the autocorrelations by Geyer's initial monotone sequence:
// neighbouring pairs are added until a sum is not positive, each bounded by the
// one before; of the first excluded pair, the first term is added if it is
// positive. (B77).
double effective_size(Halves halves) {
  const std::size_t n = halves.length;
  if (n < 6) return kNone;
  const double spread = variance(centre(halves));
  const double first = autocovariance(halves, 0);
  const double within = first * real(n) / real(n - 1), total = first + spread;
  const auto correlation = [&](std::size_t lag) {
    if (lag == 0) return 1.0;
    return 1 - (within - autocovariance(halves, lag)) / total;
  };
  double time = -1, least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0;; ++k) {
    const double even = correlation(2 * k),
                 pair = even + correlation(2 * k + 1);
    if (std::isnan(pair)) return kNone;
    const bool over = k > 0 && pair <= 0;
    if (over || k == (n - 4) / 2) {
      time += pair < 0 ? std::max(even, 0.0) : even;
      break;
    }
    least = std::min(least, pair);
    time += 2 * least;
  }
  // For antithetic draws: a bound on what can be estimated.
  const double draws = real(n) * real(halves.number);
  return draws / std::max(time, 1 / std::log10(draws));
}

// A quantile interpolated between order statistics, as R's type 7.
double quantile(const std::vector<double>& sorted, double probability) {
  constexpr double kFuzz = 4 * std::numeric_limits<double>::epsilon();
  const double at = real(sorted.size() - 1) * probability;
  const std::size_t below = static_cast<std::size_t>(at + kFuzz);
  const double part = at - real(below);
  if (std::abs(part) < kFuzz || below + 1 == sorted.size()) {
    return sorted[below];
  }
  return (1 - part) * sorted[below] + part * sorted[below + 1];
}

// For the share of draws up to a quantile; undefined if it is 0 or 1.
double tail_size(Halves halves, double quantile) {
  std::size_t count = 0;
  for (double& draw : halves.draws) {
    draw = draw <= quantile;
    count += draw > 0;
  }
  if (count == 0 || count == halves.draws.size()) return kNone;
  return effective_size(std::move(halves));
}

}  // namespace

double mean_size(const Chains& chains) {
  return effective_size(halves_of(chains));
}

Summary summarise(const Chains& chains, const std::vector<double>& scores) {
  std::vector<double> sorted(chains.draws, chains.draws + chains.size());
  std::sort(sorted.begin(), sorted.end());
  const double middle = quantile(sorted, 0.5);
  const Halves halves = halves_of(chains);
  Halves ranks = halves, folded = halves;
  for (double& draw : folded.draws) draw = std::abs(draw - middle);
  to_scores(ranks.draws, scores);
  to_scores(folded.draws, scores);
  // Distances may all be equal, up to rounding.
  const bool flat = variance(folded.draws) < 1e-12;
  Summary out;
  out.rhat = flat ? rhat(ranks) : std::max(rhat(ranks), rhat(folded));
  const double low = tail_size(halves, quantile(sorted, 0.05));
  const double high = tail_size(halves, quantile(sorted, 0.95));
  out.ess_tail =
      std::isnan(low) || std::isnan(high) ? kNone : std::min(low, high);
  out.ess_bulk = effective_size(std::move(ranks));
  return out;
}

}  // namespace kernelbayes::mixing
