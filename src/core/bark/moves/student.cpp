// Student-t noise: normal with precision phi w omega, omega ~ Ga(df / 2, df /
// 2). (B47).
#include "core/student_df.hpp"
#include "kernelbayes/constants.hpp"
#include "moves.hpp"

namespace kernelbayes::bark {

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
