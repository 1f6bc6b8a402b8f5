#include "moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

// The copy stays where it is; its varphi is new unless others share it.
bool renew(State& state, const Copy& copy, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const bool collapsed = prior.collapsed();
  Slot slot = state.slot(copy.slot);
  if (collapsed && slot.copies > 1) return false;
  slot.varphi[collapsed ? 0 : copy.which] = prior.draw_varphi(rng);
  const Change change =
      state.score_change(copy.slot, slot.variance(collapsed));
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

}  // namespace

bool relocate_move(State& state, double power, Rng& rng) {
  if (state.copies() == 0) return false;
  const Prior& prior = state.prior();
  const bool collapsed = prior.collapsed();
  const Copy copy = choose_copy(state, rng);
  const int to = static_cast<int>(rng.index(state.data().n() + 1));
  if (state.slot(copy.slot).location == to) {
    return renew(state, copy, power, rng);
  }
  const Slot rest = without_copy(state.slot(copy.slot), copy.which, collapsed);
  const Change out = state.score_change(
      copy.slot, rest.copies == 0 ? 0 : rest.variance(collapsed));
  const int i = state.find(to);
  if (i >= 0) {
    Slot slot = with_copy(
        state.slot(i), collapsed ? 0 : prior.draw_varphi(rng), collapsed);
    const double variance = slot.variance(collapsed);
    const Change both = state.score_change(i, variance, out);
    if (!accept(power * both.log_ratio, rng)) return false;
    take_out(state, out, rest);
    const Change in = state.score_change(state.find(to), variance);
    state.set_slot(in, std::move(slot));
    return true;
  }
  Slot slot{to, 1, {prior.draw_varphi(rng)}};
  Column column = state.make_column(to);
  const double log_ratio =
      state.score_add(column, slot.variance(collapsed), out);
  if (!accept(power * log_ratio, rng)) return false;
  if (rest.copies == 0) column.remove(copy.slot);
  take_out(state, out, rest);
  state.add(column, std::move(slot));
  return true;
}

}  // namespace bark
}  // namespace kernelbayes
