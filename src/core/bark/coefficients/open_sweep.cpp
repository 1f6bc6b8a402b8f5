// The part of a sweep with the coefficients in the state.
#include "core/bark/chain/sweep.hpp"

namespace kernelbayes::bark {

// The two halves need each other: trajectories and ellipses move the size of f,
// and scales are free only if the coefficients are carried along.
void Sweep::open(State& state, Intervals rows, bool adapt, Counts& counts,
                 Rng& rng) {
  if (!state.prior().collapsed() || state.prior().nu == 0) return;
  OpenState open(state, std::move(rows), rng);
  if (!open.ok()) return;
  trajectory(open, adapt, counts, rng);
  kernels(open, counts, rng);
  constexpr int kTimes = 2;
  for (int i = 0; i < kTimes; ++i) {
    open.hold(rng);
    for (int j = 0; j < 2; ++j) {
      counts.note(kCoefficientEllipse, open.ellipse(rng));
    }
    if (!state.prior().own_scales) scales(open, i == 0, counts, rng);
    open.release();
  }
  if (state.prior().own_scales) {
    for (int i = 0; i < kernels_ / 2; ++i) scales(open, true, counts, rng);
  }
  open.give(state, rng);
}

void Sweep::trajectory(OpenState& open, bool adapt, Counts& counts, Rng& rng) {
  constexpr int kSteps = 10;
  constexpr double kTarget = 0.75;
  Steps::One& step = steps_.trajectory;
  const double length = step.length() * (0.6 + 0.8 * rng.uniform());
  const auto followed = open.follow(length, kSteps, rng);
  if (open.size() == 0) return;  // there was nothing to follow
  counts.note(kTrajectory, followed.moved);
  if (adapt) step.adapt(followed.probability, kTarget);
}

void Sweep::kernels(OpenState& open, Counts& counts, Rng& rng) {
  for (int i = 0; i < kernels_; ++i) {
    counts.note(kOpenCoefficient, coefficient_move(open, rng));
    counts.note(kOpenBirthDeath, birth_death_move(open, rng));
  }
  for (int i = 0; i < kernels_ / 2; ++i) {
    counts.note(kOpenRelocate, relocate_move(open, rng));
    counts.note(kOpenLocal, local_move(open, rng));
  }
}

// Steps have random lengths.
void Sweep::scales(OpenState& open, bool flip, Counts& counts, Rng& rng) {
  const Prior& prior = open.prior();
  const auto step = [&rng] { return std::exp2(1 - 4 * rng.uniform()); };
  counts.note(kOpenScale, scale_all_move(open, 1, step(), rng));
  if (!prior.equal()) {
    counts.note(kOpenScale, scale_any_move(open, 1, step(), rng));
  }
  if (!flip || !prior.selects()) return;
  counts.note(kOpenFlip, flip_move(open, 1, rng));
}

}  // namespace kernelbayes::bark
