#pragma once

#include <cmath>

#include "core/bark/chain/sweep.hpp"

namespace kernelbayes::bark {

// Moves of the place of one kernel with its own scales and one copy, for a
// state S with its coefficients, a Backfit or a GlmState. They end in
// move_kernel(). True if the state changed.

// To a place from the prior, with the scales from there or its own.
template <class S>
bool relocate_one(S& state, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  Place to = draw_place(state.prior(), state.data(), state.pool(), rng);
  const Slot& slot = state.slot(j);
  if (rng.uniform() < 0.5) {
    if (to.location == 0 || slot.location == 0) return false;
    auto shape = std::make_shared<Shape>(*slot.shape);
    shape->centre = to.shape->centre;
    to.shape = std::move(shape);
  }
  return move_kernel(state, j, to, 0, 1, rng);
}

inline int draw_stride(const Data& data, Rng& rng) {
  const int longest = std::max(1, data.n() / data.glance.similar);
  return longest - static_cast<int>(rng.index(longest / 2 + 1));
}

// Among rows a stride apart, which does not depend on the state: the row that
// is left is one of those of the row that is chosen.
template <class S>
bool local_one(S& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (state.size() == 0 || prior.centre_sd > 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const double sharpness = std::exp2(4 * rng.uniform());
  const Slot& slot = state.slot(j);
  if (slot.location == 0) return false;
  const int from = slot.location - 1;
  const int stride = draw_stride(state.data(), rng);
  const int first = from % stride;
  Eigen::VectorXd weights;
  const auto sum = [&](const Place& place, int own) {
    return similarities(*state.data().arithmetic,
                        state.exponents(place, first, stride),
                        (own - first) / stride, sharpness, weights);
  };
  const double leaving = sum(state.place(j), from);
  const int chosen = choose_weighted(weights, leaving, rng);
  if (chosen < 0) return false;
  const int row = first + chosen * stride;
  const Place to{row + 1, slot.shape};
  double log_ratio = std::log(leaving / sum(to, row));
  if (!prior.centres.uniform()) {
    log_ratio += prior.centres.log_ratio(row + 1, from + 1);
  }
  return move_kernel(state, j, to, log_ratio, 1, rng);
}

/// The data are informative about kernels to different degrees.
inline double random_step(Rng& rng) { return std::exp2(1 - 3 * rng.uniform()); }

/// All moves of scales of one kernel.
template <class S>
void scales_of_one(S& state, double power, Counts& counts, Rng& rng) {
  counts.note(kScaleAll, scale_all_move(state, power, random_step(rng), rng));
  if (!state.prior().equal()) {
    counts.note(kScaleOne, scale_any_move(state, power, random_step(rng), rng));
  }
  scales_without_step(state, power, counts, rng);
}

/// All moves of one kernel of a Backfit or a GlmState.
template <class S>
void moves_of_one(S& state, int rounds, Counts& counts, Rng& rng) {
  for (int i = 0; i < rounds; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, rng));
    counts.note(kRelocate, relocate_move(state, rng));
    counts.note(kLocal, local_move(state, rng));
    if (i % 2 == 0) scales_of_one(state, 1, counts, rng);
  }
}

/// The common part of pooled scales.
template <class S>
void move_pool(S& state, double power, Counts& counts, Rng& rng) {
  for (int i = 0; i < 2; ++i) {
    const double step = random_step(rng);
    counts.note(kPoolShift, pool_shift_move(state, power, step, rng));
    pool_move(state, rng);
  }
  const double step = random_step(rng);
  counts.note(kPoolStretch, pool_stretch_move(state, power, step, rng));
}

}  // namespace kernelbayes::bark
