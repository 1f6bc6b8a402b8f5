#include "moves.hpp"

namespace kernelbayes {
namespace bark {

Copy choose_copy(const State& state, Rng& rng) {
  int which = static_cast<int>(rng.index(state.copies()));
  int j = 0;
  while (which >= state.slot(j).copies) which -= state.slot(j++).copies;
  return {j, which};
}

Slot with_copy(const Slot& slot, double varphi, bool collapsed) {
  Slot out = slot;
  ++out.copies;
  if (!collapsed) out.varphi.push_back(varphi);
  return out;
}

Slot without_copy(const Slot& slot, int which, bool collapsed) {
  Slot out = slot;
  --out.copies;
  if (!collapsed) out.varphi.erase(out.varphi.begin() + which);
  return out;
}

namespace {

bool birth(State& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const bool collapsed = prior.collapsed();
  const double odds = std::log(prior.nu / (state.copies() + 1));
  const int location = static_cast<int>(rng.index(state.data().n() + 1));
  const int j = state.find(location);
  if (j >= 0) {
    Slot slot = with_copy(
        state.slot(j), collapsed ? 0 : prior.draw_varphi(rng), collapsed);
    const Change change = state.score_change(j, slot.variance(collapsed));
    if (!accept(power * change.log_ratio + odds, rng)) return false;
    state.set_slot(change, std::move(slot));
    return true;
  }
  Slot slot{location, 1, {prior.draw_varphi(rng)}};
  const Column column = state.make_column(location);
  const double log_ratio = state.score_add(column, slot.variance(collapsed));
  if (!accept(power * log_ratio + odds, rng)) return false;
  state.add(column, std::move(slot));
  return true;
}

bool death(State& state, double power, Rng& rng) {
  if (state.copies() == 0) return false;
  const bool collapsed = state.prior().collapsed();
  const double odds = std::log(state.copies() / state.prior().nu);
  const Copy copy = choose_copy(state, rng);
  const bool last = state.slot(copy.slot).copies == 1;
  Slot slot;
  if (!last) {
    slot = without_copy(state.slot(copy.slot), copy.which, collapsed);
  }
  const Change change =
      state.score_change(copy.slot, last ? 0 : slot.variance(collapsed));
  if (!accept(power * change.log_ratio + odds, rng)) return false;
  if (last) {
    state.remove(change);
  } else {
    state.set_slot(change, std::move(slot));
  }
  return true;
}

}  // namespace

bool birth_death_move(State& state, double power, Rng& rng) {
  if (rng.uniform() < 0.5) return birth(state, power, rng);
  return death(state, power, rng);
}

}  // namespace bark
}  // namespace kernelbayes
