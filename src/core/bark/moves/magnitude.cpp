#include <kernelbayes/normal_cdf.hpp>

#include "moves.hpp"

namespace kernelbayes::bark {

double class_log_likelihood(const Data& data, const std::vector<double>& cuts,
                            const Eigen::VectorXd& f) {
  double sum = 0;
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    const int level = data.level(i);
    sum += log_normal_between(cuts[level] - f[i], cuts[level + 1] - f[i]);
  }
  return sum;
}

double class_log_likelihood(const State& state, const std::vector<double>& cuts,
                            const Eigen::VectorXd& f) {
  const Eigen::VectorXd& shift = state.response_model().shift();
  if (shift.size() == 0) return class_log_likelihood(state.data(), cuts, f);
  return class_log_likelihood(state.data(), cuts, f + shift);
}

// If classes are well separated, only the prior determines the size of f, but
// latent responses hold it fixed: they are temporarily integrated out. The
// density of coefficients given varphi and the Jacobian of both cancel; that of
// the logarithms of the gaps, which shift by a constant, is 1. (B52).
bool magnitude_move(State& state, double step, Rng& rng) {
  if (!state.data().latent() || state.size() == 0) return false;
  const State::Factor factor = state.factor();
  if (!factor.ok) return false;
  const Prior& prior = state.prior();
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
  std::vector<double> gaps = state.log_gaps(), cuts = state.cuts();
  for (double& gap : gaps) gap += move;
  for (double& cut : cuts) cut *= std::exp(move);
  const double log_ratio =
      class_log_likelihood(state, cuts, std::exp(move) * f) -
      class_log_likelihood(state, state.cuts(), f) -
      prior.alpha * count * move -
      prior.varphi_rate() * sum * std::expm1(-2 * move) + log_prior_gaps(gaps) -
      log_prior_gaps(state.log_gaps());
  if (!accept(log_ratio, rng)) return false;
  state.set_log_gaps(std::move(gaps));
  state.scale_varphi(std::exp(-2 * move));
  draw_latent(state, std::exp(move) * f, rng);
  return true;
}

}  // namespace kernelbayes::bark
