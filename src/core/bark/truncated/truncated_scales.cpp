// Scales of the truncation approximation, with or without the coefficients.
#include "truncated_moves.hpp"

namespace kernelbayes::bark {

namespace {

double log_prior_of(const Prior& prior, const Eigen::VectorXd& beta) {
  double sum = 0;
  for (const double b : beta) {
    if (std::abs(b) < prior.eps) return -INFINITY;
    sum += log_pareto(prior, b);
  }
  return sum;
}

// Coefficients keep their distance from the mean in standard deviations, under
// the normal distributions from the likelihood before and after. The reverse
// step leads back; the Jacobian is |L| / |L'|, (B72). -infinity if it is
// impossible.
double carry_coefficients(TruncatedState& state, double power, Rng& rng) {
  const double a = std::sqrt(state.amplitude());
  const double precision = power * state.noise();
  const double spread = draw_spread(state.prior(), rng);
  const NormalLaw from =
      make_normal_law(a * state.columns(), state.response(), precision, spread);
  const NormalLaw to = make_normal_law(a * state.proposed_columns(),
                                       state.response(), precision, spread);
  if (!from.ok || !to.ok) return -INFINITY;
  const Eigen::VectorXd beta = state.coefficients();
  const Eigen::VectorXd z =
      from.lower.triangularView<Eigen::Lower>().transpose() *
      (beta - from.mean);
  const Eigen::VectorXd next =
      to.mean + to.lower.triangularView<Eigen::Lower>().transpose().solve(z);
  const double log_jacobian = from.lower.diagonal().array().log().sum() -
                              to.lower.diagonal().array().log().sum();
  const double log_ratio = log_prior_of(state.prior(), next) -
                           log_prior_of(state.prior(), beta) + log_jacobian;
  if (log_ratio == -INFINITY) return log_ratio;
  const double gain = state.propose_coefficients(next) - state.log_likelihood();
  return power * gain + log_ratio;
}

}  // namespace

bool try_scales(TruncatedState& state, const ScaleChange& change,
                double log_prior, double power, Rng& rng) {
  const double gain = state.propose_scales(change) - state.log_likelihood();
  const bool carry = rng.uniform() < 0.5;
  const double log_ratio = carry && state.size() > 0
                               ? carry_coefficients(state, power, rng)
                               : power * gain;
  if (!accept(log_ratio + log_prior, rng)) return false;
  state.accept_proposal();
  return true;
}

bool change_scales(TruncatedState& state, double power, Rng& rng,
                   const ProposeScales& propose) {
  const ScaleProposal next =
      propose({state.prior(), state.log_lambda(), state.included()});
  return next.possible &&
         try_scales(state, next.change, next.log_ratio, power, rng);
}

int choose_included(const TruncatedState& state, Rng& rng) {
  return choose_included(
      Scales{state.prior(), state.log_lambda(), state.included()}, rng);
}

}  // namespace kernelbayes::bark
