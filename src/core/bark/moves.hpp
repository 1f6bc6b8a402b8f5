#pragma once

#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// Moves that leave pi(theta) p(y | theta)^power invariant, coefficients
/// integrated out. Each tries once; true if the state changed. What cannot be
/// done (a death without kernels) is a rejection.
///
/// A copy of a kernel is born at a uniform location or dies, uniformly chosen.
bool birth_death_move(State& state, double power, Rng& rng);

/// A copy goes from its location to a uniform one.
bool relocate_move(State& state, double power, Rng& rng);

/// A kernel of one copy goes to a row that is like its centre: row i of
/// centre c is chosen with probability proportional to K(x_i, c)^s, s random.
bool local_move(State& state, double power, Rng& rng);

/// Collapsed form: a slot gains or loses a copy.
bool copies_move(State& state, double power, Rng& rng);

/// Collapsed form: the same, varphi following so that n^2 / varphi stays.
bool rescale_move(State& state, double power, Rng& rng);

/// One varphi: a step in its logarithm, or a draw from the prior.
bool varphi_move(State& state, double power, double step, Rng& rng);

/// All scales by one factor.
bool scale_all_move(State& state, double power, double step, Rng& rng);

/// Scales that differ: one of them (a step, or a draw from the prior); the
/// shares of two, their sum staying.
bool scale_one_move(State& state, double power, double step, Rng& rng);
bool scale_pair_move(State& state, double power, Rng& rng);

/// Selection: one predictor in or out; one in for one out.
bool flip_move(State& state, double power, Rng& rng);
bool swap_move(State& state, double power, Rng& rng);

/// The noise precision: a step in its logarithm.
bool noise_move(State& state, double power, double step, Rng& rng);

/// The noise precision given a draw of the coefficients; only at power 1.
bool noise_gibbs(State& state, Rng& rng);

/// All of theta from its prior.
void draw_prior(State& state, Rng& rng);

inline bool accept(double log_ratio, Rng& rng) {
  return log_ratio >= 0 || rng.uniform() < std::exp(log_ratio);
}

/// A uniformly chosen copy: its slot, and its number there.
struct Copy {
  int slot, which;
};
Copy choose_copy(const State& state, Rng& rng);

/// A kernel of one copy gives way to one elsewhere, with a varphi that the data
/// have a say in; log_proposal is the ratio for the choice of the place.
bool move_kernel(State& state, int j, Column column, double log_proposal,
                 double power, Rng& rng);

/// The slot with one copy more or less.
Slot with_copy(const Slot& slot, double varphi, bool collapsed);
Slot without_copy(const Slot& slot, int which, bool collapsed);

/// Changes scales and inclusion if that is accepted.
bool try_scales(State& state, const ScaleChange& change, double log_prior,
                double power, Rng& rng);

}  // namespace bark
}  // namespace kernelbayes
