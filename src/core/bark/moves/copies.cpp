#include "moves.hpp"

namespace kernelbayes::bark {

namespace {

// A uniform slot with one copy more or less, and the ratio of the priors of
// that number, Po(nu pi_i), as in (B32).
struct Step {
  int slot;
  int copies;
  double log_prior;
};

bool joins(const Prior& prior) { return prior.collapsed() && !prior.shaped(); }

Step choose_step(const State& state, Rng& rng) {
  const int j = static_cast<int>(rng.index(state.size()));
  const int now = state.slot(j).copies;
  const Prior& prior = state.prior();
  const int n = state.data().n(), location = state.slot(j).location;
  const double each = prior.centres.uniform()
                          ? prior.nu / (n + 1)
                          : prior.nu * prior.centres.probability(location, n);
  if (rng.uniform() < 0.5) return {j, now + 1, std::log(each / (now + 1))};
  return {j, now - 1, std::log(now / each)};
}

}  // namespace

// (B32).
bool copies_move(State& state, double power, Rng& rng) {
  if (!joins(state.prior()) || state.size() == 0) return false;
  const Step step = choose_step(state, rng);
  if (step.copies == 0) return false;
  Slot slot = state.slot(step.slot);
  slot.copies = step.copies;
  const Change change = state.score_change(step.slot, slot.variance(true));
  if (!accept(power * change.log_ratio + step.log_prior, rng)) return false;
  state.set_slot(change, std::move(slot));
  return true;
}

// (B33): the likelihood does not change.
bool rescale_move(State& state, double, Rng& rng) {
  const Prior& prior = state.prior();
  if (!joins(prior) || state.size() == 0) return false;
  const Step step = choose_step(state, rng);
  if (step.copies == 0) return false;
  Slot slot = state.slot(step.slot);
  const double ratio = double(step.copies) / slot.copies;
  const double varphi = slot.varphi[0], scaled = varphi * ratio * ratio;
  // The Jacobian of varphi and its density make (varphi'/varphi)^(alpha/2).
  const double log_ratio = step.log_prior + prior.alpha * std::log(ratio) -
                           prior.varphi_rate() * (scaled - varphi);
  if (!accept(log_ratio, rng)) return false;
  slot.copies = step.copies;
  slot.varphi[0] = scaled;
  state.relabel(step.slot, std::move(slot));
  return true;
}

}  // namespace kernelbayes::bark
