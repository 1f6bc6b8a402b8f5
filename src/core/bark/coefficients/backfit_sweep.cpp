// The part of a sweep in which kernels move given the coefficients of the
// others.
#include "backfit.hpp"

#include <algorithm>

#include "moves_of_one.hpp"

namespace kernelbayes::bark {

bool backfits(const Data& data, const Prior& prior) {
  return data.n() >= data.many_rows && prior.own_scales && !prior.clustered() &&
         !data.latent() && prior.nu > 0;
}

bool backfits(const State& state, double power) {
  return power == 1 && state.amplitude() == 1 &&
         backfits(state.data(), state.prior());
}

// At least kLeast: few kernels would get too few moves.
int Sweep::backfit_rounds(int kernels) {
  constexpr int kLeast = 100, kMost = 400;
  return std::min(std::max(3 * kernels / 2, kLeast), kMost);
}

// False if coefficients cannot be computed.
bool Sweep::backfit(State& state, bool adapt, Counts& counts, Rng& rng) {
  if (rounds_ == 0 || adapt) rounds_ = backfit_rounds(state.size());
  Backfit fit(state, rng);
  if (!fit.ok()) return false;
  moves_of_one(fit, rounds_, counts, rng);
  give(fit, state, rng);
  if (state.prior().pooled) move_pool(state, 1, counts, rng);
  return true;
}

// The noise, and Student's row weights, are drawn with the coefficients still
// there: all that depends on both is then computed once. With terms they are
// drawn with the terms.
void Sweep::give(Backfit& fit, State& state, Rng& rng) {
  if (state.data().terms.any()) return fit.give(state);
  fit.give(state, draw_noise(state, fit.residuals(), rng));
}

}  // namespace kernelbayes::bark
