#include "moves.hpp"

namespace kernelbayes::bark {

// (B34): a draw from the prior, whose density cancels, or a symmetric step of
// log varphi, whose prior density is that of varphi times varphi.
bool varphi_move(State& state, double power, double step, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  const int j = static_cast<int>(rng.index(state.size()));
  Slot slot = state.slot(j);
  double& varphi =
      slot.varphi[rng.index(static_cast<std::uint32_t>(slot.varphi.size()))];
  double log_prior = 0;
  if (rng.uniform() < 0.5) {
    varphi = prior.draw_varphi(rng);
  } else {
    const double move = step * rng.normal(), from = varphi;
    varphi *= std::exp(move);
    log_prior =
        0.5 * prior.alpha * move - prior.varphi_rate() * (varphi - from);
  }
  const Change change = state.score_change(j, slot.variance(prior.collapsed()));
  if (!accept(power * change.log_ratio + log_prior, rng)) return false;
  state.set_slot(change, std::move(slot));
  return true;
}

}  // namespace kernelbayes::bark
