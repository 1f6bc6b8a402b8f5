#include "moves.hpp"

namespace kernelbayes::bark {

// (B45): a symmetric step of log phi; its prior density is that of phi times
// phi.
bool noise_move(State& state, double power, double step, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.noise_fixed) return false;
  const double move = step * rng.normal(), from = state.noise();
  const double to = from * std::exp(move);
  const double gain = state.propose_noise(to) - state.log_likelihood();
  const double log_prior =
      prior.noise_shape * move - prior.noise_rate * (to - from);
  if (!accept(power * gain + log_prior, rng)) return false;
  state.accept_proposal();
  return true;
}

// (B17).
bool draw_fit(const State& state, Eigen::VectorXd& fit, Rng& rng) {
  fit = Eigen::VectorXd::Zero(state.data().n());
  if (state.size() == 0 || state.amplitude() == 0) return true;
  const State::Factor factor = state.factor();
  if (!factor.ok) return false;
  fit = state.columns() * State::draw_coefficients(factor, rng);
  return true;
}

// (B46): phi given coefficients that are drawn and dropped, a Gibbs step on the
// joint distribution. Only at power 1: a power of the integrated likelihood is
// not that of a joint distribution.
bool noise_gibbs(State& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.noise_fixed) return false;
  Eigen::VectorXd fit;
  if (!draw_fit(state, fit, rng)) return false;
  const Eigen::VectorXd residual = state.response() - fit;
  state.propose_noise(
      prior.draw_noise(state.data().n(), residual.squaredNorm(), rng));
  state.accept_proposal();
  return true;
}

}  // namespace kernelbayes::bark
