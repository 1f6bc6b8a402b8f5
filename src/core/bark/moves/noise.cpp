#include "core/student.hpp"
#include "kernelbayes/constants.hpp"
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

// Student-t noise: normal with precision phi w omega, omega ~ Ga(df / 2, df /
// 2). (B47).

namespace {

// (B78): degrees of freedom with the precision that matches, given f, row
// weights integrated out.
void draw_df(State& state, const Eigen::VectorXd& residuals, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.df.size() == 1) return;
  const auto log_density = [&](const StudentNoise& at) {
    return student_log_likelihood(residuals, at.precision, at.df) +
           prior.noise_shape * std::log(at.precision) -
           prior.noise_rate * at.precision;
  };
  const StudentNoise to =
      draw_student_noise(prior.df, {state.df(), state.noise()},
                         prior.noise_fixed, log_density, rng);
  state.set_df(to.df);
  state.set_noise(to.precision);
}

}  // namespace

void draw_prior_df(State& state, Rng& rng) {
  const std::vector<double>& df = state.prior().df;
  const auto count = static_cast<std::uint32_t>(df.size());
  if (state.data().student()) state.set_df(df[rng.index(count)]);
}

Eigen::VectorXd unweighted(const State& state,
                           const Eigen::VectorXd& residuals) {
  return residuals.cwiseQuotient(state.row_weights().cwiseSqrt());
}

Eigen::VectorXd draw_row_weights(State& state, Eigen::VectorXd residuals,
                                 Rng& rng) {
  draw_df(state, residuals, rng);
  const double df = state.df();
  for (double& value : residuals) {
    const double square = state.noise() * value * value;
    value = rng.gamma((df + 1) / 2) / ((df + square) / 2);
  }
  return residuals;
}

Eigen::VectorXd draw_noise(State& state, const Eigen::VectorXd& residuals,
                           Rng& rng) {
  const Prior& prior = state.prior();
  if (!prior.noise_fixed) {
    state.set_noise(
        prior.draw_noise(state.data().n(), residuals.squaredNorm(), rng));
  }
  if (!state.data().student()) return {};
  return draw_row_weights(state, unweighted(state, residuals), rng);
}

void row_weights_move(State& state, Rng& rng) {
  if (!state.data().student()) return;
  Eigen::VectorXd fit;
  if (!draw_fit(state, fit, rng)) return;
  state.set_row_weights(
      draw_row_weights(state, unweighted(state, state.response() - fit), rng));
}

double noise_log_likelihood(const State& state,
                            const Eigen::VectorXd& residuals) {
  const double given = 0.5 * state.data().weights.array().log().sum();
  if (state.data().student()) {
    return given + student_log_likelihood(unweighted(state, residuals),
                                          state.noise(), state.df());
  }
  return 0.5 * state.data().n() * (std::log(state.noise()) - kLogTwoPi) +
         given - 0.5 * state.noise() * residuals.squaredNorm();
}

double response_log_likelihood(const State& state, const Eigen::VectorXd& fit) {
  return state.data().latent()
             ? class_log_likelihood(state, state.cuts(), fit)
             : noise_log_likelihood(state, state.response() - fit);
}

}  // namespace kernelbayes::bark
