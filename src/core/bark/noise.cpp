#include "moves.hpp"

namespace kernelbayes {
namespace bark {

bool noise_move(State& state, double power, double step, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.noise_fixed) return false;
  const double move = step * rng.normal(), from = state.noise();
  const double before = state.log_likelihood();
  state.set_noise(from * std::exp(move));
  const double log_ratio = power * (state.log_likelihood() - before) +
                           prior.noise_shape * move -
                           prior.noise_rate * (state.noise() - from);
  if (accept(log_ratio, rng)) return true;
  state.undo();
  return false;
}

bool noise_gibbs(State& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.noise_fixed) return false;
  const Data& data = state.data();
  Eigen::VectorXd residual = state.response();
  if (state.size() > 0) {
    const State::Factor factor = state.factor();
    if (!factor.ok) return false;
    residual -= state.columns() * State::draw_coefficients(factor, rng);
  }
  const double sum = residual.cwiseAbs2().dot(data.weights);
  state.set_noise(rng.gamma(prior.noise_shape + 0.5 * data.n()) /
                  (prior.noise_rate + 0.5 * sum));
  return true;
}

}  // namespace bark
}  // namespace kernelbayes
