#include <kernelbayes/normal_cdf.hpp>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

double probit_log_likelihood(const Eigen::VectorXd& y,
                             const Eigen::VectorXd& f) {
  double sum = 0;
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    sum += log_normal_cdf(y[i] * f[i]);
  }
  return sum;
}

// Classes that are well apart leave the size of f to its prior, but latent
// responses hold it where it is: they are left out for a while. The density of
// coefficients given varphi and the Jacobian of both cancel.
bool magnitude_move(State& state, double step, Rng& rng) {
  if (!state.data().probit() || state.size() == 0) return false;
  const State::Factor factor = state.factor();
  if (!factor.ok) return false;
  const Prior& prior = state.prior();
  const Eigen::VectorXd& y = state.data().y;
  const Eigen::VectorXd f =
      state.columns() * State::draw_coefficients(factor, rng);
  double count = 0, sum = 0;
  for (int j = 0; j < state.size(); ++j) {
    for (const double varphi : state.slot(j).varphi) {
      ++count;
      sum += varphi;
    }
  }
  const double move = step * rng.normal();
  const double log_ratio =
      probit_log_likelihood(y, std::exp(move) * f) -
      probit_log_likelihood(y, f) - prior.alpha * count * move -
      prior.varphi_rate() * sum * std::expm1(-2 * move);
  if (!accept(log_ratio, rng)) return false;
  state.scale_varphi(std::exp(-2 * move));
  draw_latent(state, std::exp(move) * f, rng);
  return true;
}

}  // namespace bark
}  // namespace kernelbayes
