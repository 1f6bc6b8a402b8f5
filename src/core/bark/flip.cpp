#include <algorithm>
#include <limits>

#include "moves.hpp"
#include "truncated_moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

/// What becomes of the scales as predictor l comes in (or goes out): its own,
/// the shift of the others' logarithms, and the log of the prior and proposal
/// ratio of coming in from d included.
struct Flip {
  double scale, shift, log_ratio;
};

template <class S>
double log_sum_others(const S& state, int l) {
  double sum = -std::numeric_limits<double>::infinity();
  for (int j = 0; j < state.data().p(); ++j) {
    if (j == l || !state.included()[j]) continue;
    sum = log_add(sum, state.log_lambda()[j]);
  }
  return sum;
}

// An included predictor other than l: with equal scales any will do.
template <class S>
int any_included(const S& state, int l) {
  int j = 0;
  while (j == l || !state.included()[j]) ++j;
  return j;
}

// Equal scales: kept, or their sum kept.
template <class S>
Flip flip_equal(const S& state, int l, bool in, bool keep_sum, Rng& rng) {
  const Prior& prior = state.prior();
  const int d = state.n_included() - !in;
  Flip out{0, 0, prior.log_include(d, state.data().p())};
  if (d == 0) {
    if (in) out.scale = log_gamma_draw(prior.a, prior.b, rng);
    return out;
  }
  const int other = any_included(state, l);
  const double scale = state.log_lambda()[other];
  const double step = std::log((d + 1.0) / d);
  if (keep_sum) {
    out.shift = in ? -step : step;
  } else {
    out.log_ratio += prior.a * step - prior.b * std::exp(scale);
  }
  out.scale = scale + out.shift;
  return out;
}

// Scales that differ, the others kept: the new one from its prior.
template <class S>
Flip flip_others_kept(const S& state, int l, bool in, Rng& rng) {
  const Prior& prior = state.prior();
  const int d = state.n_included() - !in;
  Flip out{0, 0, prior.log_include(d, state.data().p())};
  if (in) out.scale = log_gamma_draw(prior.a / (d + 1), prior.b, rng);
  for (int j = 0; j < state.data().p(); ++j) {
    if (j == l || !state.included()[j]) continue;
    const double scale = state.log_lambda()[j];
    out.log_ratio += log_gamma_density(scale, prior.a / (d + 1), prior.b) -
                     log_gamma_density(scale, prior.a / d, prior.b);
  }
  return out;
}

// Scales that differ, their sum kept: the new one takes a share.
template <class S>
Flip flip_sum_kept(const S& state, int l, bool in, Rng& rng) {
  const Prior& prior = state.prior();
  const int d = state.n_included() - !in;
  if (d == 0) return flip_others_kept(state, l, in, rng);
  Flip out{0, 0, prior.log_include(d, state.data().p())};
  const double others = log_sum_others(state, l);
  const double more = prior.a / (d + 1), fewer = prior.a / d;
  out.log_ratio += std::lgamma(d * more) - d * std::lgamma(more) -
                   std::lgamma(prior.a) + d * std::lgamma(fewer);
  if (in) {
    const double one = log_gamma_draw(more, 1, rng);
    const double rest = log_gamma_draw(d * more, 1, rng);
    const double sum = log_add(one, rest);
    out.shift = rest - sum;
    out.scale = others + one - sum;
  } else {
    out.shift = log_add(others, state.log_lambda()[l]) - others;
  }
  for (int j = 0; j < state.data().p(); ++j) {
    if (j == l || !state.included()[j]) continue;
    out.log_ratio += (more - fewer) * (state.log_lambda()[j] - others);
  }
  return out;
}

}  // namespace

template <class S>
bool flip_move(S& state, double power, Rng& rng) {
  if (!state.prior().selects()) return false;
  const int l = static_cast<int>(rng.index(state.data().p()));
  const bool in = !state.included()[l];
  const bool keep_sum = rng.uniform() < 0.5;
  const Flip flip = state.prior().equal()
                        ? flip_equal(state, l, in, keep_sum, rng)
                        : (keep_sum ? flip_sum_kept(state, l, in, rng)
                                    : flip_others_kept(state, l, in, rng));
  const double scale = in ? flip.scale : state.log_lambda()[l];
  return try_scales(state, {flip.shift, {{l, scale, in}}},
                    in ? flip.log_ratio : -flip.log_ratio, power, rng);
}

template <class S>
bool swap_move(S& state, double power, Rng& rng) {
  const int p = state.data().p(), d = state.n_included();
  if (!state.prior().selects() || d == 0 || d == p) return false;
  int i, j;
  do i = static_cast<int>(rng.index(p)); while (!state.included()[i]);
  do j = static_cast<int>(rng.index(p)); while (state.included()[j]);
  const double scale = state.log_lambda()[i];
  return try_scales(state, {0, {{i, scale, 0}, {j, scale, 1}}}, 0, power, rng);
}

template bool flip_move(State&, double, Rng&);
template bool swap_move(State&, double, Rng&);
template bool flip_move(TruncatedState&, double, Rng&);
template bool swap_move(TruncatedState&, double, Rng&);

}  // namespace bark
}  // namespace kernelbayes
