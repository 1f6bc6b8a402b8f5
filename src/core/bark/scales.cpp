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

bool try_scales(State& state, std::vector<double> log_lambda,
                std::vector<char> included, double log_prior, double power,
                Rng& rng) {
  const double before = state.log_likelihood();
  state.set_scales(std::move(log_lambda), std::move(included));
  if (accept(power * (state.log_likelihood() - before) + log_prior, rng)) {
    return true;
  }
  state.undo();
  return false;
}

bool scale_all_move(State& state, double power, double step, Rng& rng) {
  if (state.n_included() == 0) return false;
  const Prior& prior = state.prior();
  const double move = step * rng.normal();
  std::vector<double> scales = state.log_lambda();
  for (double& scale : scales) scale += move;
  const double log_prior =
      prior.a * move - prior.b * state.total_scale() * std::expm1(move);
  return try_scales(state, std::move(scales), state.included(), log_prior,
                    power, rng);
}

bool scale_one_move(State& state, double power, double step, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.equal() || state.n_included() == 0) return false;
  const double shape = prior.share_shape(state.n_included());
  std::vector<double> scales = state.log_lambda();
  double& scale = scales[choose_included(state, rng)];
  const double from = scale;
  double log_prior = 0;
  if (rng.uniform() < 0.5) {
    scale = log_gamma_draw(shape, prior.b, rng);
  } else {
    scale += step * rng.normal();
    log_prior = shape * (scale - from) -
                prior.b * (std::exp(scale) - std::exp(from));
  }
  return try_scales(state, std::move(scales), state.included(), log_prior,
                    power, rng);
}

bool scale_pair_move(State& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.equal() || state.n_included() < 2) return false;
  const double shape = prior.share_shape(state.n_included());
  const int i = choose_included(state, rng);
  const int j = choose_included(state, rng, i);
  std::vector<double> scales = state.log_lambda();
  const auto log_sum = [](double a, double b) {
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  };
  const double total = log_sum(scales[i], scales[j]);
  const double one = log_gamma_draw(shape, 1, rng);
  const double other = log_gamma_draw(shape, 1, rng);
  scales[i] = total + one - log_sum(one, other);
  scales[j] = total + other - log_sum(one, other);
  return try_scales(state, std::move(scales), state.included(), 0, power, rng);
}

}  // namespace bark
}  // namespace kernelbayes
