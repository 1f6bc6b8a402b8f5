#include "moves.hpp"
#include "variance_proposal.hpp"

namespace kernelbayes::bark {

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

// If there is a kernel already, it gets one more copy, (B24); a new one gets a
// varphi drawn from a data-informed proposal, (B25).
bool birth(State& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const bool collapsed = prior.collapsed();
  const double log_odds = std::log(prior.nu / (state.copies() + 1));
  const Place place = draw_place(state, rng);
  const int j = state.find(place.location);
  if (j >= 0) {
    Slot slot = with_copy(state.slot(j), collapsed ? 0 : prior.draw_varphi(rng),
                          collapsed);
    const Change change = state.score_change(j, slot.variance(collapsed));
    if (!accept(power * change.log_ratio + log_odds, rng)) return false;
    state.set_slot(change, std::move(slot));
    return true;
  }
  const Column& column = state.make_column(place);
  VarianceProposal proposal(prior, 1, state.information(column), power);
  if (!accept(proposal.propose(rng) + log_odds, rng)) return false;
  state.add(column, {place.location, 1, {proposal.take(rng)}, place.shape});
  return true;
}

// (B24), (B25): the inverse of the birth that would undo it.
bool death(State& state, double power, Rng& rng) {
  if (state.copies() == 0) return false;
  const Prior& prior = state.prior();
  const double log_odds = std::log(state.copies() / prior.nu);
  const auto [j, which] = choose_copy(state, rng);
  if (state.slot(j).copies == 1) {
    const VarianceProposal proposal(prior, 1, state.information(j), power);
    const double log_weight = proposal.log_weight(state.slot(j).varphi[0]);
    if (!accept(log_odds - log_weight, rng)) return false;
    state.remove(state.score_change(j, 0));
    return true;
  }
  Slot slot = without_copy(state.slot(j), which, prior.collapsed());
  const Change change = state.score_change(j, slot.variance(prior.collapsed()));
  if (!accept(power * change.log_ratio + log_odds, rng)) return false;
  state.set_slot(change, std::move(slot));
  return true;
}

}  // namespace

bool birth_death_move(State& state, double power, Rng& rng) {
  if (rng.uniform() < 0.5) return birth(state, power, rng);
  return death(state, power, rng);
}

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
