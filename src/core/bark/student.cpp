// Student-t noise: normal with precision phi w omega, omega ~ Ga(df / 2, df /
// 2). (B47).
#include "moves.hpp"

namespace kernelbayes {
namespace bark {

void row_weights_move(State& state, Rng& rng) {
  if (!state.data().student()) return;
  Eigen::VectorXd fit;
  if (!draw_fit(state, fit, rng)) return;
  const double df = state.prior().df;
  Eigen::VectorXd weights = state.row_weights();
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    const double residual = state.response()[i] - fit[i];
    const double square = state.noise() * residual * residual / weights[i];
    weights[i] = rng.gamma((df + 1) / 2) / ((df + square) / 2);
  }
  state.set_row_weights(std::move(weights));
}

namespace {

// log(Gamma(a + 1 / 2) / Gamma(a)); by the asymptotic series if the difference
// would cancel.
double log_gamma_step(double a) {
  constexpr double kLarge = 1e4;
  if (a < kLarge) return std::lgamma(a + 0.5) - std::lgamma(a);
  return 0.5 * std::log(a) - 1 / (8 * a);
}

double log_student_density(double x, double df) {
  constexpr double kLogPi = 1.1447298858494001741;
  return log_gamma_step(df / 2) - 0.5 * (std::log(df) + kLogPi) -
         (df + 1) / 2 * std::log1p(x * x / df);
}

double student_log_likelihood(const State& state, const Eigen::VectorXd& fit) {
  const Data& data = state.data();
  double sum = 0;
  for (Eigen::Index i = 0; i < fit.size(); ++i) {
    const double precision = state.noise() * data.weights[i];
    const double square = state.noise() / state.row_weights()[i];
    const double x = (state.response()[i] - fit[i]) * std::sqrt(square);
    sum += log_student_density(x, state.prior().df) + 0.5 * std::log(precision);
  }
  return sum;
}

}  // namespace

double response_log_likelihood(const State& state, const Eigen::VectorXd& fit) {
  return state.data().latent()
             ? class_log_likelihood(state.data(), state.cuts(), fit)
             : student_log_likelihood(state, fit);
}

}  // namespace bark
}  // namespace kernelbayes
