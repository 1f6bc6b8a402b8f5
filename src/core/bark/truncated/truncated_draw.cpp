// Noise, latent responses and whole states of the truncation approximation.
#include <kernelbayes/truncated_normal.hpp>

#include "truncated_moves.hpp"

namespace kernelbayes::bark {

// (B73).
void noise_gibbs(TruncatedState& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.noise_fixed) return;
  state.set_noise(
      prior.draw_noise(power * state.data().n(), power * state.squares(), rng));
}

void draw_latent(TruncatedState& state, Rng& rng) {
  if (!state.data().latent()) return;
  const Eigen::VectorXd& y = state.data().y;
  Eigen::VectorXd z = state.response() - state.residual();
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    z[i] = y[i] * positive_normal(y[i] * z[i], 1, rng);
  }
  state.set_response(std::move(z));
}

namespace {

double probit_log_likelihood(const TruncatedState& state,
                             const Eigen::VectorXd& f) {
  static const std::vector<double> cuts{-INFINITY, 0, INFINITY};
  return class_log_likelihood(state.data(), cuts, f);
}

}  // namespace

// Latent responses hold f fixed: they are temporarily integrated out. g^J for
// the Jacobian, g^-((1 + alpha) J) for the densities: (B74).
bool magnitude_move(TruncatedState& state, double step, Rng& rng) {
  if (!state.data().latent() || state.size() == 0) return false;
  const Prior& prior = state.prior();
  const double move = step * rng.normal(), factor = std::exp(move);
  const Eigen::VectorXd beta = factor * state.coefficients();
  if (beta.cwiseAbs().minCoeff() < prior.eps) return false;
  const Eigen::VectorXd f = state.response() - state.residual();
  const double log_ratio = probit_log_likelihood(state, factor * f) -
                           probit_log_likelihood(state, f) -
                           prior.alpha * state.size() * move;
  if (!accept(log_ratio, rng)) return false;
  state.set_coefficients(beta);
  draw_latent(state, rng);
  return true;
}

double probit_log_likelihood(const TruncatedState& state, double amplitude) {
  return probit_log_likelihood(
      state, Eigen::VectorXd(state.columns() *
                             (std::sqrt(amplitude) * state.coefficients())));
}

namespace {

std::vector<Kernel> draw_kernels(const TruncatedState& state, Rng& rng) {
  const Prior& prior = state.prior();
  std::vector<Kernel> out(rng.poisson(prior.nu));
  for (Kernel& kernel : out) {
    kernel.location = static_cast<int>(rng.index(state.data().n() + 1));
    kernel.beta = draw_pareto(prior, rng);
  }
  return out;
}

}  // namespace

void draw_prior(TruncatedState& state, Rng& rng) {
  const Prior& prior = state.prior();
  std::vector<Kernel> kernels = draw_kernels(state, rng);
  std::vector<char> included = draw_included(prior, state.data().p(), rng);
  std::vector<double> scales = draw_scales(prior, included, rng);
  const double phi =
      prior.noise_fixed ? prior.noise_precision : prior.draw_noise(0, 0, rng);
  state.assign(std::move(kernels), std::move(scales), std::move(included), phi);
}

// As for a State: small scales, noise as if f were 0.
void draw_start(TruncatedState& state, Rng& rng) {
  const Prior& prior = state.prior();
  const int n = state.data().n(), p = state.data().p();
  const double phi =
      prior.noise_fixed
          ? prior.noise_precision
          : (prior.noise_shape + 0.5 * n) /
                (prior.noise_rate + 0.5 * state.response().squaredNorm());
  state.assign(draw_kernels(state, rng),
               std::vector<double>(p, -std::log(double(p))),
               std::vector<char>(p, 1), phi);
  draw_latent(state, rng);
}

}  // namespace kernelbayes::bark
