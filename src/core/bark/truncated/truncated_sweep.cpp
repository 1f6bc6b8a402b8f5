#include "truncated_sweep.hpp"

#include <algorithm>

namespace kernelbayes::bark {

const char* truncated_move_name(int kind) {
  static const char* const names[kTruncatedMoves] = {
      "birth_death", "relocate", "local",     "coefficient", "walk",
      "sign",        "ellipse",  "scale_all", "scale_one",   "scale_refresh",
      "scale_pair",  "flip",     "swap",      "magnitude",   "temperature"};
  return names[kind];
}

double tempered(const TruncatedState& state, const Rung& rung) {
  if (rung.power == 0) return 0;
  if (state.data().latent()) {
    return rung.power * probit_log_likelihood(state, rung.amplitude);
  }
  return rung.power * state.log_likelihood();
}

bool exchange(TruncatedState& one, const Rung& at_one, TruncatedState& other,
              const Rung& at_other, Rng& rng) {
  const double log_ratio = tempered(one, at_other) + tempered(other, at_one) -
                           tempered(one, at_one) - tempered(other, at_other);
  if (!accept(log_ratio, rng)) return false;
  std::swap(one, other);
  one.set_amplitude(at_one.amplitude);
  other.set_amplitude(at_other.amplitude);
  draw_latent(one, rng);
  draw_latent(other, rng);
  return true;
}

TruncatedSweep::TruncatedSweep(const Prior& prior, int p)
    : kernels_(static_cast<int>(std::min(std::max(prior.nu, 4.0), 200.0))),
      scales_(prior.equal() ? 0 : std::min(p, 10)) {
  steps_.scales.assign(p, {0});
}

void TruncatedSweep::full(TruncatedState& state, double power, bool adapt,
                          TruncatedCounts& counts, Rng& rng) {
  state.refresh();
  kernels(state, power, counts, rng);
  if (power > 0) latent(state, adapt, counts, rng);
  coefficients(state, power, counts, rng);
  if (power > 0) latent(state, adapt, counts, rng);
  scales(state, power, adapt, counts, rng);
  noise_gibbs(state, power, rng);
  if (power > 0) latent(state, adapt, counts, rng);
}

void TruncatedSweep::kernels(TruncatedState& state, double power,
                             TruncatedCounts& counts, Rng& rng) {
  for (int i = 0; i < kernels_; ++i) {
    counts.note(kTruncatedBirthDeath, birth_death_move(state, power, rng));
    counts.note(kTruncatedLocal, local_move(state, power, rng));
    if (i % 2 == 1) continue;
    counts.note(kTruncatedRelocate, relocate_move(state, power, rng));
  }
}

// Steps of all lengths: none is best for all coefficients. Blocks of a few
// kernels move far; the block of all adapts f at once.
void TruncatedSweep::coefficients(TruncatedState& state, double power,
                                  TruncatedCounts& counts, Rng& rng) {
  const int m = state.size();
  for (int j = 0; j < m; ++j) {
    counts.note(kCoefficient, coefficient_move(state, j, power, rng));
    const double step = std::exp2(1 - 6 * rng.uniform());
    counts.note(kWalk, walk_move(state, j, power, step, rng));
    counts.note(kSign, sign_move(state, j, power, rng));
  }
  for (int i = 0; i < m; i += 2) {
    const int size = 2 << rng.index(3);
    counts.note(kEllipse, ellipse_move(state, size, power, rng));
  }
  counts.note(kEllipse, ellipse_move(state, m, power, rng));
}

void TruncatedSweep::scales(TruncatedState& state, double power, bool adapt,
                            TruncatedCounts& counts, Rng& rng) {
  const bool moved = scale_all_move(state, power, steps_.all.length(), rng);
  counts.note(kTruncatedScaleAll, moved);
  if (adapt) steps_.all.adapt(moved);
  for (int i = 0; i < scales_; ++i) scale_one(state, power, adapt, counts, rng);
  if (!state.prior().equal()) {
    counts.note(kTruncatedScaleRefresh, scale_refresh_move(state, power, rng));
    counts.note(kTruncatedScalePair, scale_pair_move(state, power, rng));
  }
  if (!state.prior().selects()) return;
  counts.note(kTruncatedFlip, flip_move(state, power, rng));
  counts.note(kTruncatedSwap, swap_move(state, power, rng));
}

void TruncatedSweep::scale_one(TruncatedState& state, double power, bool adapt,
                               TruncatedCounts& counts, Rng& rng) {
  if (state.n_included() == 0) return;
  const int l = choose_included(state, rng);
  Steps::One& step = steps_.scales[l];
  const bool moved = scale_one_move(state, l, power, step.length(), rng);
  counts.note(kTruncatedScaleOne, moved);
  if (adapt) step.adapt(moved);
}

void TruncatedSweep::latent(TruncatedState& state, bool adapt,
                            TruncatedCounts& counts, Rng& rng) {
  if (!state.data().latent()) return;
  draw_latent(state, rng);
  const bool moved = magnitude_move(state, steps_.magnitude.length(), rng);
  counts.note(kTruncatedMagnitude, moved);
  if (adapt) steps_.magnitude.adapt(moved);
}

}  // namespace kernelbayes::bark
