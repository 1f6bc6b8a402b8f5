#include <algorithm>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

// A uniform choice among the included predictors, leaving out one.
int choose_included(const State& state, Rng& rng, int but = -1) {
  int k = static_cast<int>(rng.index(state.n_included() - (but >= 0)));
  for (int l = 0;; ++l) {
    if (!state.included()[l] || l == but) continue;
    if (k-- == 0) return l;
  }
}

}  // namespace

bool try_scales(State& state, const ScaleChange& change, double log_prior,
                double power, Rng& rng) {
  const double gain = state.propose_scales(change) - state.log_likelihood();
  if (!accept(power * gain + log_prior, rng)) return false;
  state.accept_proposal();
  return true;
}

bool scale_all_move(State& state, double power, double step, Rng& rng) {
  if (state.n_included() == 0) return false;
  const Prior& prior = state.prior();
  const double move = step * rng.normal();
  const double log_prior =
      prior.a * move - prior.b * state.total_scale() * std::expm1(move);
  return try_scales(state, {move, {}}, log_prior, power, rng);
}

bool scale_one_move(State& state, double power, double step, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.equal() || state.n_included() == 0) return false;
  const double shape = prior.share_shape(state.n_included());
  const int l = choose_included(state, rng);
  const double from = state.log_lambda()[l];
  double scale = from, log_prior = 0;
  if (rng.uniform() < 0.5) {
    scale = log_gamma_draw(shape, prior.b, rng);
  } else {
    scale += step * rng.normal();
    log_prior = shape * (scale - from) -
                prior.b * (std::exp(scale) - std::exp(from));
  }
  return try_scales(state, {0, {{l, scale, 1}}}, log_prior, power, rng);
}

bool scale_pair_move(State& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.equal() || state.n_included() < 2) return false;
  const double shape = prior.share_shape(state.n_included());
  const int i = choose_included(state, rng);
  const int j = choose_included(state, rng, i);
  const auto& scales = state.log_lambda();
  const double total = log_add(scales[i], scales[j]);
  const double one = log_gamma_draw(shape, 1, rng);
  const double other = log_gamma_draw(shape, 1, rng);
  const double shift = total - log_add(one, other);
  return try_scales(state, {0, {{i, one + shift, 1}, {j, other + shift, 1}}},
                    0, power, rng);
}

}  // namespace bark
}  // namespace kernelbayes
