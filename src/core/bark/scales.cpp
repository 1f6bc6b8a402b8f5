#include <algorithm>

#include "moves.hpp"
#include "truncated_moves.hpp"

namespace kernelbayes {
namespace bark {

template <class S>
int choose_included(const S& state, Rng& rng, int but) {
  int k = static_cast<int>(rng.index(state.n_included() - (but >= 0)));
  for (int l = 0;; ++l) {
    if (!state.included()[l] || l == but) continue;
    if (k-- == 0) return l;
  }
}

template <class S>
bool try_scales(S& state, const ScaleChange& change, double log_prior,
                double power, Rng& rng) {
  const double gain = state.propose_scales(change) - state.log_likelihood();
  if (!accept(power * gain + log_prior, rng)) return false;
  state.accept_proposal();
  return true;
}

template <class S>
bool scale_all_move(S& state, double power, double step, Rng& rng) {
  if (state.n_included() == 0) return false;
  const Prior& prior = state.prior();
  const double move = step * rng.normal();
  const double log_prior =
      prior.a * move - prior.b * state.total_scale() * std::expm1(move);
  return try_scales(state, {move, {}}, log_prior, power, rng);
}

template <class S>
bool scale_one_move(S& state, int predictor, double power, double step,
                    Rng& rng) {
  const Prior& prior = state.prior();
  const double shape = prior.share_shape(state.n_included());
  const double from = state.log_lambda()[predictor];
  const double move = step * rng.normal(), to = from + move;
  const double log_prior =
      shape * move - prior.b * (std::exp(to) - std::exp(from));
  return try_scales(state, {0, {{predictor, to, 1}}}, log_prior, power, rng);
}

template <class S>
bool scale_refresh_move(S& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.equal() || state.n_included() == 0) return false;
  const int predictor = choose_included(state, rng);
  const double shape = prior.share_shape(state.n_included());
  const double to = log_gamma_draw(shape, prior.b, rng);
  return try_scales(state, {0, {{predictor, to, 1}}}, 0, power, rng);
}

template <class S>
bool scale_pair_move(S& state, double power, Rng& rng) {
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

template int choose_included(const State&, Rng&, int);
template bool try_scales(State&, const ScaleChange&, double, double, Rng&);
template bool scale_all_move(State&, double, double, Rng&);
template bool scale_one_move(State&, int, double, double, Rng&);
template bool scale_refresh_move(State&, double, Rng&);
template bool scale_pair_move(State&, double, Rng&);

template int choose_included(const TruncatedState&, Rng&, int);
template bool scale_all_move(TruncatedState&, double, double, Rng&);
template bool scale_one_move(TruncatedState&, int, double, double, Rng&);
template bool scale_refresh_move(TruncatedState&, double, Rng&);
template bool scale_pair_move(TruncatedState&, double, Rng&);

}  // namespace bark
}  // namespace kernelbayes
