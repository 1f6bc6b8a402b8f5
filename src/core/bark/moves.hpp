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

/// Probit models only: the latent responses given the kernels, one by one with
/// the coefficients integrated out; all of them by one factor; and what they
/// are without kernels, to start from.
void latent_move(State& state, Rng& rng);
void latent_scale_move(State& state, Rng& rng);
void draw_latent(State& state, Rng& rng);

/// The same law as that of latent_move, given a draw of the coefficients: for
/// responses that all but determine one another.
void latent_given_coefficients(State& state, Rng& rng);

/// Probit models only, for any amplitude: all coefficients by one factor and
/// every varphi with them, latent responses drawn afresh.
bool magnitude_move(State& state, double step, Rng& rng);

/// log p(y | f) of a probit model.
double probit_log_likelihood(const Eigen::VectorXd& y,
                             const Eigen::VectorXd& f);

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

/// The slot with one copy more or less.
Slot with_copy(const Slot& slot, double varphi, bool collapsed);
Slot without_copy(const Slot& slot, int which, bool collapsed);

/// Changes scales and inclusion if that is accepted.
bool try_scales(State& state, std::vector<double> log_lambda,
                std::vector<char> included, double log_prior, double power,
                Rng& rng);

}  // namespace bark
}  // namespace kernelbayes
