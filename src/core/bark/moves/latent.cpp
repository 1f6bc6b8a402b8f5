#include <kernelbayes/truncated_normal.hpp>

#include "moves.hpp"

namespace kernelbayes::bark {

namespace {

double draw_one(const State& state, Eigen::Index i, double mean, double sd,
                Rng& rng) {
  return normal_between(mean, sd, state.lower(i), state.upper(i), rng);
}

// (B49), Holmes and Held (2006): with H = K Sig K' = U'U, z_i given the others
// has mean (f_i - h_i z_i) / (1 - h_i) and variance 1 / (1 - h_i), where f =
// U'q is the fit to z and q = Uz; truncated to the class of y_i. q follows z in
// O(m).
void one_by_one(const State& state, const Eigen::MatrixXd& u,
                const Eigen::VectorXd& h, Eigen::VectorXd q, Eigen::VectorXd& z,
                Rng& rng) {
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    const double left = 1 - h[i], from = z[i];
    const double mean = (u.col(i).dot(q) - h[i] * from) / left;
    z[i] = draw_one(state, i, mean, 1 / std::sqrt(left), rng);
    q += (z[i] - from) * u.col(i);
  }
}

}  // namespace

void latent_move(State& state, Rng& rng) {
  if (!state.data().latent()) return;
  if (state.size() == 0) return draw_latent(state, rng);
  const State::Factor factor = state.factor();
  if (!factor.ok) return;
  const Eigen::MatrixXd u = factor.lower.triangularView<Eigen::Lower>().solve(
      state.columns().transpose());
  const Eigen::VectorXd h = u.colwise().squaredNorm().transpose();
  // Below this, the conditional variance of a response is only rounding. The
  // choice depends on the kernels only, which do not change here.
  constexpr double kLeastLeft = 1e-8;
  if (1 - h.maxCoeff() < kLeastLeft) {
    return latent_given_coefficients(state, rng);
  }
  Eigen::VectorXd z = state.response();
  one_by_one(state, u, h, factor.z, z, rng);
  state.set_response(std::move(z));
}

void latent_given_coefficients(State& state, Rng& rng) {
  if (!state.data().latent()) return;
  Eigen::VectorXd f;
  if (draw_fit(state, f, rng)) draw_latent(state, std::move(f), rng);
}

void draw_latent(State& state, Eigen::VectorXd f, Rng& rng) {
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    f[i] = draw_one(state, i, f[i], 1, rng);
  }
  state.set_response(std::move(f));
}

void draw_latent(State& state, Rng& rng) {
  draw_latent(state, Eigen::VectorXd::Zero(state.data().n()), rng);
}

}  // namespace kernelbayes::bark
