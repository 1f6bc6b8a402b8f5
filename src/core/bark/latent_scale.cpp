#include "moves.hpp"

namespace kernelbayes {
namespace bark {

// z *= g leaves the side of every z_i. With the coefficients integrated out g^2
// ~ Ga(n / 2, Q / 2), Q = z'(I + K V K')^-1 z (Liu and Sabatti, 2000).
void latent_scale_move(State& state, Rng& rng) {
  if (!state.data().probit()) return;
  const Eigen::VectorXd& z = state.response();
  // Q is the least |z - K b|^2 + b'V^-1 b: nothing cancels.
  double q = (z - state.columns() * state.mean()).squaredNorm();
  for (int j = 0; j < state.size(); ++j) {
    q += state.mean()[j] * state.mean()[j] / state.variance(j);
  }
  const double g = std::sqrt(rng.gamma(0.5 * z.size()) / (0.5 * q));
  state.set_response(g * z);
}

}  // namespace bark
}  // namespace kernelbayes
