#include <algorithm>
#include <limits>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

/// Scales before and after predictor l comes in (or goes out), with the log of
/// the prior and proposal ratio of coming in from d included.
struct Flip {
  std::vector<double> scales;
  double log_ratio;
};

double log_sum_others(const State& state, int l) {
  double sum = -std::numeric_limits<double>::infinity();
  for (int j = 0; j < state.data().p(); ++j) {
    if (j == l || !state.included()[j]) continue;
    const double next = state.log_lambda()[j];
    const double top = std::max(sum, next);
    sum = top + std::log1p(std::exp(-std::abs(sum - next)));
  }
  return sum;
}

// Equal scales: kept, or their sum kept.
Flip flip_equal(const State& state, int l, bool in, bool keep_sum, Rng& rng) {
  const Prior& prior = state.prior();
  const int d = state.n_included() - !in;
  Flip out{state.log_lambda(), prior.log_include(d, state.data().p())};
  if (d == 0) {
    if (in) out.scales[l] = log_gamma_draw(prior.a, prior.b, rng);
    return out;
  }
  double scale = 0;
  for (int j = 0; j < state.data().p(); ++j) {
    if (state.included()[j]) scale = state.log_lambda()[j];
  }
  const double step = std::log((d + 1.0) / d);
  if (!keep_sum) {
    out.log_ratio += prior.a * step - prior.b * std::exp(scale);
  } else {
    scale += in ? -step : step;
  }
  std::fill(out.scales.begin(), out.scales.end(), scale);
  return out;
}

// Scales that differ, the others kept: the new one from its prior.
Flip flip_others_kept(const State& state, int l, bool in, Rng& rng) {
  const Prior& prior = state.prior();
  const int d = state.n_included() - !in;
  Flip out{state.log_lambda(), prior.log_include(d, state.data().p())};
  if (in) out.scales[l] = log_gamma_draw(prior.a / (d + 1), prior.b, rng);
  for (int j = 0; j < state.data().p(); ++j) {
    if (j == l || !state.included()[j]) continue;
    out.log_ratio +=
        log_gamma_density(out.scales[j], prior.a / (d + 1), prior.b) -
        log_gamma_density(out.scales[j], prior.a / d, prior.b);
  }
  return out;
}

// Scales that differ, their sum kept: the new one takes a share.
Flip flip_sum_kept(const State& state, int l, bool in, Rng& rng) {
  const Prior& prior = state.prior();
  const int d = state.n_included() - !in;
  if (d == 0) return flip_others_kept(state, l, in, rng);
  Flip out{state.log_lambda(), prior.log_include(d, state.data().p())};
  const double others = log_sum_others(state, l);
  const double more = prior.a / (d + 1), fewer = prior.a / d;
  out.log_ratio += std::lgamma(d * more) - d * std::lgamma(more) -
                   std::lgamma(prior.a) + d * std::lgamma(fewer);
  double shift;  // of the logarithms of the others
  if (in) {
    const double one = log_gamma_draw(more, 1, rng);
    const double rest = log_gamma_draw(d * more, 1, rng);
    const double top = std::max(one, rest);
    const double sum = top + std::log1p(std::exp(-std::abs(one - rest)));
    shift = rest - sum;
    out.scales[l] = others + one - sum;
  } else {
    const double scale = state.log_lambda()[l];
    const double top = std::max(others, scale);
    shift = top + std::log1p(std::exp(-std::abs(others - scale))) - others;
  }
  for (int j = 0; j < state.data().p(); ++j) {
    if (j == l || !state.included()[j]) continue;
    out.log_ratio += (more - fewer) * (out.scales[j] - others);
    out.scales[j] += shift;
  }
  return out;
}

}  // namespace

bool flip_move(State& state, double power, Rng& rng) {
  if (!state.prior().selects()) return false;
  const int l = static_cast<int>(rng.index(state.data().p()));
  const bool in = !state.included()[l];
  const bool keep_sum = rng.uniform() < 0.5;
  Flip flip = state.prior().equal()
                  ? flip_equal(state, l, in, keep_sum, rng)
                  : (keep_sum ? flip_sum_kept(state, l, in, rng)
                              : flip_others_kept(state, l, in, rng));
  std::vector<char> included = state.included();
  included[l] = in;
  return try_scales(state, std::move(flip.scales), std::move(included),
                    in ? flip.log_ratio : -flip.log_ratio, power, rng);
}

bool swap_move(State& state, double power, Rng& rng) {
  const int p = state.data().p(), d = state.n_included();
  if (!state.prior().selects() || d == 0 || d == p) return false;
  int i, j;
  do i = static_cast<int>(rng.index(p)); while (!state.included()[i]);
  do j = static_cast<int>(rng.index(p)); while (state.included()[j]);
  std::vector<double> scales = state.log_lambda();
  std::vector<char> included = state.included();
  std::swap(scales[i], scales[j]);
  std::swap(included[i], included[j]);
  return try_scales(state, std::move(scales), std::move(included), 0, power,
                    rng);
}

}  // namespace bark
}  // namespace kernelbayes
