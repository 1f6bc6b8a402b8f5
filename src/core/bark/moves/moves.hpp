#pragma once

#include "core/bark/state/state.hpp"
#include "core/choose.hpp"

namespace kernelbayes::bark {

/// Moves that leave pi(theta) p(y | theta)^power invariant, coefficients
/// integrated out: derivations/bark.md, sections 3 to 6. Each tries once; true
/// if the state changed. An impossible move (a death without kernels) is a
/// rejection.
///
/// Birth of a copy of a kernel at a place from the prior, or death of a
/// uniformly chosen copy.
bool birth_death_move(State& state, double power, Rng& rng);

/// A copy moves to a location from the prior.
bool relocate_move(State& state, double power, Rng& rng);

/// A kernel with one copy moves to a row that is similar to its centre c: row i
/// is chosen with probability proportional to K(x_i, c)^s, s random.
bool local_move(State& state, double power, Rng& rng);

/// A centre that is not a row takes a step of random length, at most the width
/// of its kernel.
bool walk_move(State& state, double power, Rng& rng);

/// Collapsed form: a slot gains or loses a copy.
bool copies_move(State& state, double power, Rng& rng);

/// Collapsed form: the same, with varphi adjusted so that n^2 / varphi stays.
bool rescale_move(State& state, double power, Rng& rng);

/// One varphi: a step in its logarithm, or a draw from the prior.
bool varphi_move(State& state, double power, double step, Rng& rng);

/// Moves of scales and their inclusion are for a State, an OpenState or a
/// TruncatedState, S.
/// If kernels have their own scales they concern one kernel, uniformly chosen;
/// its varphi is updated too.
///
/// All scales by one factor.
template <class S>
bool scale_all_move(S& state, double power, double step, Rng& rng);

/// Different scales: that of one included predictor (given, or any), by a step
/// or by a draw from the prior.
template <class S>
bool scale_one_move(S& state, int predictor, double power, double step,
                    Rng& rng);
template <class S>
bool scale_any_move(S& state, double power, double step, Rng& rng);
template <class S>
bool scale_refresh_move(S& state, double power, Rng& rng);

/// The shares of two, with fixed sum.
template <class S>
bool scale_pair_move(S& state, double power, Rng& rng);

/// Selection: one predictor enters or leaves, or one replaces another.
template <class S>
bool flip_move(S& state, double power, Rng& rng);
template <class S>
bool swap_move(S& state, double power, Rng& rng);

/// If kernels are clustered: the scales of one given those of the others, from
/// their prior; one leaves its cluster for scales near those it had, or the
/// inverse; the concentration given the clusters.
bool cluster_move(State& state, double power, Rng& rng);
bool leave_move(State& state, double power, double step, Rng& rng);
void concentration_move(State& state, Rng& rng);

/// If scales are pooled: the pool given the scales of the kernels; a common
/// scale, or all of them, shifted with those of the kernels; and the spread,
/// with the distances of the kernels' scales from the common ones.
template <class S>
void pool_move(S& state, Rng& rng);
template <class S>
bool pool_shift_move(S& state, double power, double step, Rng& rng);
template <class S>
bool pool_stretch_move(S& state, double power, double step, Rng& rng);

/// If the prior has directions: one turns by a normal angle with standard
/// deviation `step` towards a uniformly chosen one, or is drawn from the prior.
/// A direction that no kernel uses stays as it is, or is always drawn.
bool rotate_move(State& state, int direction, double power, double step,
                 Rng& rng);
bool redirect_move(State& state, double power, Rng& rng);

/// Directions from their prior, uniform and independent; the columns must then
/// be recomputed. Does nothing if there are none.
void draw_prior_directions(State& state, Rng& rng);

/// The noise precision: a step in its logarithm.
bool noise_move(State& state, double power, double step, Rng& rng);

/// The noise precision given a draw of the coefficients; only at power 1.
bool noise_gibbs(State& state, Rng& rng);

/// Models of classes only: the latent responses given the kernels, one by one
/// with the coefficients integrated out; all of them, and the cut points, by
/// one factor; and their values without kernels, as a start.
void latent_move(State& state, Rng& rng);
void latent_scale_move(State& state, Rng& rng);
void draw_latent(State& state, Rng& rng);

/// The latent responses given f.
void draw_latent(State& state, Eigen::VectorXd f, Rng& rng);

/// The same distribution as in latent_move, given a draw of the coefficients:
/// for responses that almost determine each other.
void latent_given_coefficients(State& state, Rng& rng);

/// Models of classes only, for any amplitude: all coefficients and cut points
/// by one factor and every varphi with them; draws new latent responses.
bool magnitude_move(State& state, double step, Rng& rng);

/// Ordered classes only: the gaps between cut points, one by one, by steps in
/// their logarithms, and in pairs; draws new latent responses. For each gap:
/// was its step accepted?
std::vector<char> cuts_move(State& state, const std::vector<double>& steps,
                            Rng& rng);

/// The cut points from their prior, which invalidates latent responses. Does
/// nothing if there are none.
void draw_prior_cuts(State& state, Rng& rng);

/// The same for Student's degrees of freedom and row weights.
void draw_prior_df(State& state, Rng& rng);
double log_prior_gaps(const std::vector<double>& log_gaps);

/// Student's noise only: the degrees of freedom, if they are learned, and the
/// row weights, given a draw of the coefficients.
void row_weights_move(State& state, Rng& rng);
/// The same for residuals sqrt(w) (y - f), w the given weights: returns the row
/// weights, and sets the degrees of freedom and the noise only.
Eigen::VectorXd draw_row_weights(State& state, Eigen::VectorXd residuals,
                                 Rng& rng);
/// The noise, and what draw_row_weights() does, given residuals that have the
/// row weights of the state. Empty if the noise is not Student's.
Eigen::VectorXd draw_noise(State& state, const Eigen::VectorXd& residuals,
                           Rng& rng);
/// Residuals without the row weights of the state.
Eigen::VectorXd unweighted(const State& state,
                           const Eigen::VectorXd& residuals);

/// If there are terms beside the kernels: their coefficients, the covariances
/// of groups, the noise and the row weights, given a draw of the coefficients
/// of kernels; or all of them from the prior.
void terms_move(State& state, Rng& rng);
/// The same for classes, in two parts: a draw of all terms, which are then
/// fixed; and the covariances, after which they are integrated out again.
bool fix_terms(State& state, Rng& rng);
void release_terms(State& state, Rng& rng);
void draw_prior_terms(State& state, Rng& rng);
/// The standard deviation of slopes and the noise, without other terms, at a
/// power of the likelihood.
void tempered_terms_move(State& state, double power, Rng& rng);
/// Terms given sqrt(w) (y - f), which becomes sqrt(w) (y - terms - f).
TermValues draw_terms(const State& state, Eigen::VectorXd& residuals, Rng& rng);

/// log p(y | f) given the noise, row weights integrated out, or given the cut
/// points; takes rows of sqrt(w) f.
double response_log_likelihood(const State& state, const Eigen::VectorXd& fit);
/// The same for residuals sqrt(w) (y - f).
double noise_log_likelihood(const State& state,
                            const Eigen::VectorXd& residuals);

/// log p(y | f) for classes; that of a state takes f without the offset.
double class_log_likelihood(const Data& data, const std::vector<double>& cuts,
                            const Eigen::VectorXd& f);
double class_log_likelihood(const State& state, const std::vector<double>& cuts,
                            const Eigen::VectorXd& f);

/// sqrt(w) f from a draw of the coefficients; false if it cannot be computed.
bool draw_fit(const State& state, Eigen::VectorXd& fit, Rng& rng);

/// Kernels, scales, directions and noise from their prior.
void draw_prior(State& state, Rng& rng);

/// The start of chains.
void draw_start(State& state, Rng& rng);

inline bool accept(double log_ratio, Rng& rng) {
  return log_ratio >= 0 || rng.uniform() < std::exp(log_ratio);
}

/// The same for a ratio that is often 1 but for rounding, which may differ
/// between sets of instructions: it always uses a number.
inline bool accept_near_one(double log_ratio, Rng& rng) {
  return rng.uniform() < std::exp(log_ratio);
}

/// A uniformly chosen copy: its slot, and its number there. S is a State or an
/// OpenState.
struct Copy {
  int slot, which;
};
template <class S>
Copy choose_copy(const S& state, Rng& rng) {
  int which = static_cast<int>(rng.index(state.copies()));
  int j = 0;
  while (which >= state.slot(j).copies) which -= state.slot(j++).copies;
  return {j, which};
}

/// Replaces a kernel with one copy by one elsewhere, with varphi from a
/// data-informed proposal; log_proposal is the ratio for the choice of the
/// place.
bool move_kernel(State& state, int j, const Column& column, double log_proposal,
                 double power, Rng& rng);
inline bool move_kernel(State& state, int j, const Place& place,
                        double log_proposal, double power, Rng& rng) {
  return move_kernel(state, j, state.make_column(place, j), log_proposal, power,
                     rng);
}

/// The weights of rows as new places for a kernel, K^sharpness; their sum,
/// without the place itself.
double similarities(const Arithmetic& arithmetic,
                    const Eigen::VectorXd& exponents, int own, double sharpness,
                    Eigen::VectorXd& out);

/// A uniformly chosen included predictor.
int choose_included(const State& state, Rng& rng);

/// Changes the slot to one copy more or less.
Slot with_copy(const Slot& slot, double varphi, bool collapsed);
Slot without_copy(const Slot& slot, int which, bool collapsed);

/// Proposes to change scales and inclusion.
bool try_scales(State& state, const ScaleChange& change, double log_prior,
                double power, Rng& rng);
/// The same of the shapes of kernels, one per slot.
bool try_shapes(State& state, std::vector<ShapePointer> shapes,
                double log_ratio, double power, Rng& rng);

}  // namespace kernelbayes::bark
