#include "moves.hpp"

namespace kernelbayes::bark {

// z *= g and c *= g keep every z_i in its class. With the coefficients
// integrated out and cut points fixed, g^2 ~ Ga(n / 2, Q / 2), Q = z'(I + K V
// K')^-1 z (Liu and Sabatti, 2000): (B50). The logarithms of the gaps shift by
// log g, without a Jacobian: an acceptance step accounts for their prior,
// (B51). With terms they must be integrated out, and the offset 0.
void latent_scale_move(State& state, Rng& rng) {
  if (!state.data().latent()) return;
  const Response& response = state.response_model();
  const bool shifted =
      response.shift().size() > 0 && !response.shift().isZero(0);
  if (shifted) return;
  const Eigen::VectorXd& z = state.response();
  // Q is the least |z - K b|^2 + b'V^-1 b: nothing cancels.
  double q = (z - state.columns() * state.mean()).squaredNorm();
  for (int j = 0; j < state.size(); ++j) {
    q += state.mean()[j] * state.mean()[j] / state.variance(j);
  }
  const auto n = static_cast<double>(z.size());
  const double g = std::sqrt(rng.gamma(0.5 * n) / (0.5 * q));
  std::vector<double> gaps = state.log_gaps();
  if (!gaps.empty()) {
    for (double& gap : gaps) gap += std::log(g);
    const double log_ratio =
        log_prior_gaps(gaps) - log_prior_gaps(state.log_gaps());
    if (!accept(log_ratio, rng)) return;
    state.set_log_gaps(std::move(gaps));
  }
  state.set_response(g * response.plain());
}

}  // namespace kernelbayes::bark
