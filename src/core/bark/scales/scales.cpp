#include "scales.hpp"

#include <algorithm>
#include <type_traits>

#include "core/bark/coefficients/backfit.hpp"
#include "core/bark/coefficients/open.hpp"
#include "core/bark/glm/glm_state.hpp"
#include "core/bark/moves/moves.hpp"
#include "core/bark/truncated/truncated_moves.hpp"

namespace kernelbayes::bark {

int Scales::n_included() const {
  int sum = 0;
  for (const char in : included) sum += in;
  return sum;
}

double Scales::total() const {
  double sum = 0;
  for (int l = 0; l < p(); ++l) {
    if (included[l]) sum += std::exp(log_lambda[l]);
  }
  return sum;
}

int choose_included(const Scales& scales, Rng& rng, int but) {
  int k = static_cast<int>(rng.index(scales.n_included() - (but >= 0)));
  for (int l = 0;; ++l) {
    if (!scales.included[l] || l == but) continue;
    if (k-- == 0) return l;
  }
}

ShapePointer changed(const Shape& shape, const ScaleChange& change) {
  auto out = std::make_shared<Shape>(shape);
  for (double& scale : out->log_lambda) scale += change.shift;
  for (const auto& one : change.ones) {
    out->log_lambda[one.predictor] = one.log_lambda;
    out->included[one.predictor] = one.included;
  }
  return out;
}

namespace {

// The scales of a kernel: those of its group of inputs, if there are groups.
ScaleProposal propose_own(const Prior& prior, const Shape& own,
                          const Pool* pool, const ProposeScales& propose) {
  if (prior.groups.empty()) {
    return propose({prior, own.log_lambda, own.included, pool});
  }
  const std::vector<int>& inputs = prior.groups[own.group];
  std::vector<double> log_lambda;
  std::vector<char> included;
  for (const int l : inputs) {
    log_lambda.push_back(own.log_lambda[l]);
    included.push_back(own.included[l]);
  }
  ScaleProposal out = propose({prior, log_lambda, included, pool});
  for (auto& one : out.change.ones) one.predictor = inputs[one.predictor];
  return out;
}

}  // namespace

template <class S>
bool change_scales(S& state, double power, Rng& rng,
                   const ProposeScales& propose) {
  const Prior& prior = state.prior();
  if (!prior.own_scales) {
    const ScaleProposal next =
        propose({prior, state.log_lambda(), state.included()});
    return next.possible &&
           try_scales(state, next.change, next.log_ratio, power, rng);
  }
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const Slot& slot = state.slot(j);
  if (slot.location == 0) return false;
  const Shape& own = *slot.shape;
  const ScaleProposal next =
      propose_own(prior, own, prior.pooled ? &state.pool() : nullptr, propose);
  if (!next.possible) return false;
  if constexpr (std::is_same_v<S, State>) {
    if (prior.clustered()) {
      const std::vector<int> cluster = cluster_of(state, j);
      if (cluster.size() > 1) {
        return change_cluster(state, cluster, next, power, rng);
      }
    }
  }
  const Place place{slot.location, changed(own, next.change)};
  return move_kernel(state, j, place, next.log_ratio, power, rng);
}

template bool change_scales(State&, double, Rng&, const ProposeScales&);
template bool change_scales(Backfit&, double, Rng&, const ProposeScales&);
template bool change_scales(GlmState&, double, Rng&, const ProposeScales&);
template bool change_scales(OpenState&, double, Rng&, const ProposeScales&);

int choose_included(const State& state, Rng& rng) {
  return choose_included(
      Scales{state.prior(), state.log_lambda(), state.included()}, rng);
}

// (B35).
bool try_scales(State& state, const ScaleChange& change, double log_prior,
                double power, Rng& rng) {
  const double gain = state.propose_scales(change) - state.log_likelihood();
  if (!accept(power * gain + log_prior, rng)) return false;
  state.accept_proposal();
  return true;
}

bool try_shapes(State& state, std::vector<ShapePointer> shapes,
                double log_ratio, double power, Rng& rng) {
  const double gain =
      state.propose_shapes(std::move(shapes)) - state.log_likelihood();
  if (!accept(power * gain + log_ratio, rng)) return false;
  state.accept_proposal();
  return true;
}

namespace {

// (B36): S has the density of Ga(a, b) whatever the shares are.
ScaleProposal scale_all(const Scales& scales, double step, Rng& rng) {
  if (scales.n_included() == 0) return ScaleProposal::none();
  if (scales.pool) return pooled_scale_all(scales, step, rng);
  const Prior& prior = scales.prior;
  const double move = step * rng.normal();
  return {{move, {}},
          prior.a * move - prior.b * scales.total() * std::expm1(move)};
}

// (B37), a step of the logarithm.
ScaleProposal scale_one(const Scales& scales, int predictor, double step,
                        Rng& rng) {
  if (scales.pool) return pooled_scale_one(scales, predictor, step, rng);
  const Prior& prior = scales.prior;
  const double shape = prior.share_shape(scales.n_included());
  const double log_from = scales.log_lambda[predictor];
  const double move = step * rng.normal(), log_to = log_from + move;
  return {{0, {{predictor, log_to, 1}}},
          shape * move - prior.b * (std::exp(log_to) - std::exp(log_from))};
}

// (B37), from the prior.
ScaleProposal scale_refresh(const Scales& scales, Rng& rng) {
  if (scales.pool) return pooled_scale_refresh(scales, rng);
  const Prior& prior = scales.prior;
  if (prior.equal() || scales.n_included() == 0) return ScaleProposal::none();
  const int predictor = choose_included(scales, rng);
  const double shape = prior.share_shape(scales.n_included());
  const double log_to = log_gamma_draw(shape, prior.b, rng);
  return {{0, {{predictor, log_to, 1}}}};
}

// (B38): the share is from its prior given the sum.
ScaleProposal scale_pair(const Scales& scales, Rng& rng) {
  const Prior& prior = scales.prior;
  if (prior.equal() || scales.pool || scales.n_included() < 2) {
    return ScaleProposal::none();
  }
  const double shape = prior.share_shape(scales.n_included());
  const int i = choose_included(scales, rng);
  const int j = choose_included(scales, rng, i);
  const double log_sum = log_add(scales.log_lambda[i], scales.log_lambda[j]);
  const double log_one = log_gamma_draw(shape, 1, rng);
  const double log_other = log_gamma_draw(shape, 1, rng);
  const double shift = log_sum - log_add(log_one, log_other);
  return {{0, {{i, log_one + shift, 1}, {j, log_other + shift, 1}}}};
}

}  // namespace

template <class S>
bool scale_all_move(S& state, double power, double step, Rng& rng) {
  return change_scales(state, power, rng, [&](const Scales& scales) {
    return scale_all(scales, step, rng);
  });
}

template <class S>
bool scale_one_move(S& state, int predictor, double power, double step,
                    Rng& rng) {
  return change_scales(state, power, rng, [&](const Scales& scales) {
    return scale_one(scales, predictor, step, rng);
  });
}

template <class S>
bool scale_any_move(S& state, double power, double step, Rng& rng) {
  return change_scales(state, power, rng, [&](const Scales& scales) {
    if (scales.prior.equal() || scales.n_included() == 0) {
      return ScaleProposal::none();
    }
    return scale_one(scales, choose_included(scales, rng), step, rng);
  });
}

template <class S>
bool scale_refresh_move(S& state, double power, Rng& rng) {
  return change_scales(state, power, rng, [&](const Scales& scales) {
    return scale_refresh(scales, rng);
  });
}

template <class S>
bool scale_pair_move(S& state, double power, Rng& rng) {
  return change_scales(state, power, rng, [&](const Scales& scales) {
    return scale_pair(scales, rng);
  });
}

template bool scale_all_move(State&, double, double, Rng&);
template bool scale_one_move(State&, int, double, double, Rng&);
template bool scale_any_move(State&, double, double, Rng&);
template bool scale_refresh_move(State&, double, Rng&);
template bool scale_pair_move(State&, double, Rng&);

template bool scale_all_move(TruncatedState&, double, double, Rng&);
template bool scale_one_move(TruncatedState&, int, double, double, Rng&);
template bool scale_refresh_move(TruncatedState&, double, Rng&);
template bool scale_pair_move(TruncatedState&, double, Rng&);

template bool scale_all_move(Backfit&, double, double, Rng&);
template bool scale_all_move(GlmState&, double, double, Rng&);
template bool scale_any_move(Backfit&, double, double, Rng&);
template bool scale_any_move(GlmState&, double, double, Rng&);
template bool scale_refresh_move(Backfit&, double, Rng&);
template bool scale_refresh_move(GlmState&, double, Rng&);
template bool scale_pair_move(Backfit&, double, Rng&);
template bool scale_pair_move(GlmState&, double, Rng&);

template bool scale_all_move(OpenState&, double, double, Rng&);
template bool scale_any_move(OpenState&, double, double, Rng&);
template bool scale_refresh_move(OpenState&, double, Rng&);
template bool scale_pair_move(OpenState&, double, Rng&);

}  // namespace kernelbayes::bark
