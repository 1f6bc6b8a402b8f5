#include <algorithm>
#include <limits>

#include "core/bark/coefficients/backfit.hpp"
#include "core/bark/coefficients/open.hpp"
#include "core/bark/glm/glm_state.hpp"
#include "core/bark/moves/moves.hpp"
#include "core/bark/truncated/truncated_moves.hpp"
#include "scales.hpp"

namespace kernelbayes::bark {

namespace {

/// The effect on the scales of including (or excluding) predictor l: the
/// logarithm of its own scale, the shift of the others', and the log of the
/// prior and proposal ratio for inclusion when d are included. Exclusion has
/// the inverse ratio, with d the smaller number in both cases.
struct Flip {
  double log_scale, shift, log_ratio;
};

double log_sum_others(const Scales& scales, int l) {
  double sum = -std::numeric_limits<double>::infinity();
  for (int j = 0; j < scales.p(); ++j) {
    if (j == l || !scales.included[j]) continue;
    sum = log_add(sum, scales.log_lambda[j]);
  }
  return sum;
}

// An included predictor other than l: with equal scales, any of them.
int any_included(const Scales& scales, int l) {
  int j = 0;
  while (j == l || !scales.included[j]) ++j;
  return j;
}

// Equal scales: kept, (B40), or their sum kept, (B41).
Flip flip_equal(const Scales& scales, int l, bool in, bool keep_sum, Rng& rng) {
  const Prior& prior = scales.prior;
  const int d = scales.n_included() - !in;
  Flip out{0, 0, prior.log_include(d, scales.p())};
  if (d == 0) {
    if (in) out.log_scale = log_gamma_draw(prior.a, prior.b, rng);
    return out;
  }
  const int other = any_included(scales, l);
  const double log_scale = scales.log_lambda[other];
  const double step = std::log((d + 1.0) / d);
  if (keep_sum) {
    out.shift = in ? -step : step;
  } else {
    out.log_ratio += prior.a * step - prior.b * std::exp(log_scale);
  }
  out.log_scale = log_scale + out.shift;
  return out;
}

// Different scales, the others kept: the new one from its prior. (B42).
Flip flip_others_kept(const Scales& scales, int l, bool in, Rng& rng) {
  const Prior& prior = scales.prior;
  const int d = scales.n_included() - !in;
  Flip out{0, 0, prior.log_include(d, scales.p())};
  if (in) out.log_scale = log_gamma_draw(prior.a / (d + 1), prior.b, rng);
  for (int j = 0; j < scales.p(); ++j) {
    if (j == l || !scales.included[j]) continue;
    const double log_scale = scales.log_lambda[j];
    out.log_ratio += log_gamma_density(log_scale, prior.a / (d + 1), prior.b) -
                     log_gamma_density(log_scale, prior.a / d, prior.b);
  }
  return out;
}

// Different scales, their sum kept: the new one takes a share. (B43).
Flip flip_sum_kept(const Scales& scales, int l, bool in, Rng& rng) {
  const Prior& prior = scales.prior;
  const int d = scales.n_included() - !in;
  if (d == 0) return flip_others_kept(scales, l, in, rng);
  Flip out{0, 0, prior.log_include(d, scales.p())};
  const double log_others = log_sum_others(scales, l);
  const double more = prior.a / (d + 1), fewer = prior.a / d;
  out.log_ratio += std::lgamma(d * more) - d * std::lgamma(more) -
                   std::lgamma(prior.a) + d * std::lgamma(fewer);
  if (in) {
    const double log_one = log_gamma_draw(more, 1, rng);
    const double log_rest = log_gamma_draw(d * more, 1, rng);
    const double log_sum = log_add(log_one, log_rest);
    out.shift = log_rest - log_sum;
    out.log_scale = log_others + log_one - log_sum;
  } else {
    out.shift = log_add(log_others, scales.log_lambda[l]) - log_others;
  }
  for (int j = 0; j < scales.p(); ++j) {
    if (j == l || !scales.included[j]) continue;
    out.log_ratio += (more - fewer) * (scales.log_lambda[j] - log_others);
  }
  return out;
}

ScaleProposal flip(const Scales& scales, Rng& rng) {
  if (!scales.prior.selects() || scales.p() == 0) return ScaleProposal::none();
  if (scales.pool) return pooled_flip(scales, rng);
  const int l = static_cast<int>(rng.index(scales.p()));
  const bool in = !scales.included[l];
  const bool keep_sum = rng.uniform() < 0.5;
  const Flip flip = scales.prior.equal()
                        ? flip_equal(scales, l, in, keep_sum, rng)
                        : (keep_sum ? flip_sum_kept(scales, l, in, rng)
                                    : flip_others_kept(scales, l, in, rng));
  const double log_scale = in ? flip.log_scale : scales.log_lambda[l];
  return {{flip.shift, {{l, log_scale, in}}},
          in ? flip.log_ratio : -flip.log_ratio};
}

// (B39).
ScaleProposal swap(const Scales& scales, Rng& rng) {
  const int p = scales.p(), d = scales.n_included();
  if (!scales.prior.selects() || d == 0 || d == p) {
    return ScaleProposal::none();
  }
  if (scales.pool) return pooled_swap(scales, rng);
  int i, j;
  do i = static_cast<int>(rng.index(p));
  while (!scales.included[i]);
  do j = static_cast<int>(rng.index(p));
  while (scales.included[j]);
  return {{0, {{i, scales.log_lambda[i], 0}, {j, scales.log_lambda[i], 1}}}};
}

}  // namespace

template <class S>
bool flip_move(S& state, double power, Rng& rng) {
  return change_scales(state, power, rng,
                       [&](const Scales& scales) { return flip(scales, rng); });
}

template <class S>
bool swap_move(S& state, double power, Rng& rng) {
  return change_scales(state, power, rng,
                       [&](const Scales& scales) { return swap(scales, rng); });
}

template bool flip_move(State&, double, Rng&);
template bool swap_move(State&, double, Rng&);
template bool flip_move(TruncatedState&, double, Rng&);
template bool swap_move(TruncatedState&, double, Rng&);

template bool flip_move(Backfit&, double, Rng&);
template bool flip_move(GlmState&, double, Rng&);
template bool swap_move(Backfit&, double, Rng&);
template bool swap_move(GlmState&, double, Rng&);

template bool flip_move(OpenState&, double, Rng&);
template bool swap_move(OpenState&, double, Rng&);

}  // namespace kernelbayes::bark
