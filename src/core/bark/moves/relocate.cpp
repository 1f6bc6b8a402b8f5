#include <cmath>

#include "core/bark/scales/scales.hpp"
#include "moves.hpp"
#include "variance_proposal.hpp"

namespace kernelbayes::bark {

namespace {

// A new varphi for a copy in place, unless others share it: (B26).
bool renew(State& state, const Copy& copy, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const bool collapsed = prior.collapsed();
  Slot slot = state.slot(copy.slot);
  if (collapsed && slot.copies > 1) return false;
  slot.varphi[collapsed ? 0 : copy.which] = prior.draw_varphi(rng);
  const Change change = state.score_change(copy.slot, slot.variance(collapsed));
  if (!accept(power * change.log_ratio, rng)) return false;
  state.set_slot(change, std::move(slot));
  return true;
}

void take_out(State& state, const Change& change, Slot rest) {
  if (rest.copies == 0) {
    state.remove(change);
  } else {
    state.set_slot(change, std::move(rest));
  }
}

// One of several copies, or one that joins others: (B26).
bool relocate_copy(State& state, const Copy& copy, int to, double power,
                   Rng& rng) {
  const Prior& prior = state.prior();
  const bool collapsed = prior.collapsed();
  const Slot rest = without_copy(state.slot(copy.slot), copy.which, collapsed);
  const Change out = state.score_change(
      copy.slot, rest.copies == 0 ? 0 : rest.variance(collapsed));
  const int i = state.find(to);
  if (i >= 0) {
    Slot slot = with_copy(state.slot(i), collapsed ? 0 : prior.draw_varphi(rng),
                          collapsed);
    const double variance = slot.variance(collapsed);
    const Change both = state.score_change(i, variance, out);
    if (!accept(power * both.log_ratio, rng)) return false;
    take_out(state, out, rest);
    const Change in = state.score_change(state.find(to), variance);
    state.set_slot(in, std::move(slot));
    return true;
  }
  Slot slot{to, 1, {prior.draw_varphi(rng)}, nullptr};
  const Column& column = state.make_column({to, nullptr});
  const double log_ratio =
      out.log_ratio +
      state.information(column, out).log_ratio(slot.variance(collapsed));
  if (!accept(power * log_ratio, rng)) return false;
  take_out(state, out, rest);
  state.add(column, std::move(slot));
  return true;
}

// To a place from the prior, with the scales from there or, half the time, with
// its own scales, which the intercept does not have: (B27) with P = 1 in both
// cases.
bool relocate_shape(State& state, const Copy& copy, double power, Rng& rng) {
  Place to = draw_place(state, rng);
  const Slot& slot = state.slot(copy.slot);
  if (state.prior().own_scales && rng.uniform() < 0.5) {
    if (to.location == 0 || slot.location == 0) return false;
    auto shape = std::make_shared<Shape>(*slot.shape);
    shape->centre = to.shape->centre;
    to.shape = std::move(shape);
  }
  return move_kernel(state, copy.slot, to, 0, power, rng);
}

}  // namespace

// (B27); log_proposal is log P.
bool move_kernel(State& state, int j, const Column& column, double log_proposal,
                 double power, Rng& rng) {
  const Prior& prior = state.prior();
  const Change out = state.score_change(j, 0);
  const VarianceProposal from(prior, 1, state.information(j), power);
  VarianceProposal to(prior, 1, state.information(column, out), power);
  const double log_ratio =
      to.propose(rng) - from.log_weight(state.slot(j).varphi[0]) + log_proposal;
  if (!accept_near_one(log_ratio, rng)) return false;
  const Place& place = column.place;
  state.replace(out, column, {place.location, 1, {to.take(rng)}, place.shape});
  return true;
}

bool relocate_move(State& state, double power, Rng& rng) {
  if (state.copies() == 0) return false;
  const Copy copy = choose_copy(state, rng);
  if (state.prior().shaped()) return relocate_shape(state, copy, power, rng);
  const int to = state.prior().centres.draw(state.data().n(), rng);
  const Slot& slot = state.slot(copy.slot);
  if (slot.location == to) return renew(state, copy, power, rng);
  if (slot.copies > 1 || state.find(to) >= 0) {
    return relocate_copy(state, copy, to, power, rng);
  }
  return move_kernel(state, copy.slot, Place{to, nullptr}, 0, power, rng);
}

double similarities(const Arithmetic& arithmetic,
                    const Eigen::VectorXd& exponents, int own, double sharpness,
                    Eigen::VectorXd& out) {
  out = sharpness * exponents;
  arithmetic.exp_minus(out, out);
  out[own] = 0;
  return out.sum();
}

// (B27) with P of (B28): K is symmetric, so only the sums of similarities and
// the priors of the two rows remain.
bool local_move(State& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  if (prior.centre_sd > 0) return walk_move(state, power, rng);
  const int j = static_cast<int>(rng.index(state.size()));
  const int from = state.slot(j).location;
  const double sharpness = std::exp2(4 * rng.uniform());
  if (from == 0 || state.slot(j).copies > 1) return false;
  Eigen::VectorXd weights;
  const double leaving =
      similarities(*state.data().arithmetic, state.exponents(j), from - 1,
                   sharpness, weights);
  const int row = choose_weighted(weights, leaving, rng);
  if (row < 0 || state.find(row + 1) >= 0) return false;
  const Column& column = state.make_column({row + 1, state.slot(j).shape});
  const double back = similarities(*state.data().arithmetic, column.exponents,
                                   row, sharpness, weights);
  double log_ratio = std::log(leaving / back);
  if (!prior.centres.uniform()) {
    log_ratio += prior.centres.log_ratio(row + 1, from);
  }
  return move_kernel(state, j, column, log_ratio, power, rng);
}

namespace {

// The length of a step along each predictor: the width of the kernel if it is
// narrow, otherwise part of the width of the prior. It does not depend on the
// centre, so steps are symmetric.
std::vector<double> reach(const State& state, const Shape& shape) {
  const bool own = !shape.included.empty();
  const auto& included = own ? shape.included : state.included();
  const auto& log_lambda = own ? shape.log_lambda : state.log_lambda();
  const double sd = state.prior().centre_sd;
  std::vector<double> out;
  for (std::size_t l = 0; l < included.size(); ++l) {
    constexpr double kFarthest = 4;
    const double width = std::exp(-0.5 * log_lambda[l]);
    out.push_back(included[l] ? std::min(width, kFarthest * sd) : sd);
  }
  return out;
}

}  // namespace

// (B27) with P of (B29).
bool walk_move(State& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const Slot& slot = state.slot(j);
  if (slot.location != kElsewhere) return false;
  auto next = std::make_shared<Shape>(*slot.shape);
  const std::vector<double> longest = reach(state, *slot.shape);
  const double length = std::exp2(-5 * rng.uniform());
  const int p = static_cast<int>(longest.size());
  const int only = rng.uniform() < 0.5 ? static_cast<int>(rng.index(p)) : -1;
  for (int l = 0; l < p; ++l) {
    if (only >= 0 && l != only) continue;
    next->centre[l] += length * longest[l] * rng.normal();
  }
  const double log_ratio = log_centre_density(state, next->centre) -
                           log_centre_density(state, slot.shape->centre);
  return move_kernel(state, j, Place{kElsewhere, next}, log_ratio, power, rng);
}

}  // namespace kernelbayes::bark
