#include <kernelbayes/truncated_normal.hpp>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

// Holmes and Held (2006): with H = K Sig K' = U'U, z_i given the others has
// mean (f_i - h_i z_i) / (1 - h_i) and variance 1 / (1 - h_i), where f = U'q is
// the fit to z and q = Uz; truncated to the side of y_i. q follows z in O(m).
void one_by_one(const Eigen::VectorXd& y, const Eigen::MatrixXd& u,
                const Eigen::VectorXd& h, Eigen::VectorXd q,
                Eigen::VectorXd& z, Rng& rng) {
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    const double left = 1 - h[i], from = z[i];
    const double mean = (u.col(i).dot(q) - h[i] * from) / left;
    z[i] = y[i] * positive_normal(y[i] * mean, 1 / std::sqrt(left), rng);
    q += (z[i] - from) * u.col(i);
  }
}

}  // namespace

void latent_move(State& state, Rng& rng) {
  const Data& data = state.data();
  if (!data.probit()) return;
  if (state.size() == 0) return draw_latent(state, rng);
  const State::Factor factor = state.factor();
  if (!factor.ok) return;
  const Eigen::MatrixXd u = factor.lower.triangularView<Eigen::Lower>().solve(
      state.columns().transpose());
  const Eigen::VectorXd h = u.colwise().squaredNorm().transpose();
  // What the others leave of a response's variance is rounding below this. The
  // choice rests on the kernels alone: either way they stay what they are.
  constexpr double kLeastLeft = 1e-8;
  if (1 - h.maxCoeff() < kLeastLeft) {
    return latent_given_coefficients(state, rng);
  }
  Eigen::VectorXd z = state.response();
  one_by_one(data.y, u, h, factor.z, z, rng);
  state.set_response(std::move(z));
}

void latent_given_coefficients(State& state, Rng& rng) {
  const Data& data = state.data();
  if (!data.probit()) return;
  Eigen::VectorXd f = Eigen::VectorXd::Zero(data.n());
  if (state.size() > 0) {
    const State::Factor factor = state.factor();
    if (!factor.ok) return;
    f = state.columns() * State::draw_coefficients(factor, rng);
  }
  draw_latent(state, std::move(f), rng);
}

void draw_latent(State& state, Eigen::VectorXd f, Rng& rng) {
  const Eigen::VectorXd& y = state.data().y;
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    f[i] = y[i] * positive_normal(y[i] * f[i], 1, rng);
  }
  state.set_response(std::move(f));
}

void draw_latent(State& state, Rng& rng) {
  Eigen::VectorXd z = state.data().y;
  for (double& value : z) value *= normal_excess(0, rng);
  state.set_response(std::move(z));
}

}  // namespace bark
}  // namespace kernelbayes
