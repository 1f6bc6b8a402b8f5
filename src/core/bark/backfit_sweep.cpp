// The part of a sweep in which kernels move given the coefficients of the
// others.
#include "backfit.hpp"
#include "sweep.hpp"

namespace kernelbayes {
namespace bark {

bool backfits(const Data& data, const Prior& prior) {
  return data.n() >= data.many_rows && prior.own_scales && !prior.clustered() &&
         !data.latent() && prior.nu > 0;
}

// More rows have more kernels.
void Sweep::backfit(State& state, Counts& counts, Rng& rng) {
  Backfit fit(state, rng);
  if (!fit.ok()) return;
  const Data& data = state.data();
  const double more = std::sqrt(double(data.n()) / data.many_rows);
  const int times = static_cast<int>(std::ceil(0.5 * more * kernels_));
  for (int i = 0; i < times; ++i) {
    counts.note(kBirthDeath, birth_death_move(fit, rng));
    counts.note(kRelocate, relocate_move(fit, rng));
    counts.note(kLocal, local_move(fit, rng));
    scales(fit, counts, rng);
  }
  fit.give(state);
  if (state.prior().pooled) pool(state, 1, counts, rng);
}

void Sweep::scales(Backfit& fit, Counts& counts, Rng& rng) {
  const Prior& prior = fit.prior();
  const auto step = [&rng] { return std::exp2(1 - 3 * rng.uniform()); };
  counts.note(kScaleAll, scale_all_move(fit, 1, step(), rng));
  if (!prior.equal()) {
    counts.note(kScaleOne, scale_any_move(fit, 1, step(), rng));
    counts.note(kScaleRefresh, scale_refresh_move(fit, 1, rng));
    counts.note(kScalePair, scale_pair_move(fit, 1, rng));
  }
  if (!prior.selects()) return;
  counts.note(kFlip, flip_move(fit, 1, rng));
  counts.note(kSwap, swap_move(fit, 1, rng));
}

}  // namespace bark
}  // namespace kernelbayes
