#include "mode.hpp"

#include "core/decompositions.hpp"

namespace kernelbayes::bark {

namespace {

// I + A' diag(weights) A
Eigen::MatrixXd information(const Eigen::MatrixXd& a,
                            const Eigen::VectorXd& weights) {
  const Eigen::MatrixXd weighted = weights.cwiseSqrt().asDiagonal() * a;
  Eigen::MatrixXd out = Eigen::MatrixXd::Identity(a.cols(), a.cols());
  out.selfadjointView<Eigen::Lower>().rankUpdate(weighted.transpose());
  return out;
}

}  // namespace

Mode find_mode(const Likelihood& rows, const Eigen::MatrixXd& a,
               const Eigen::VectorXd& base) {
  constexpr int kSteps = 50, kHalvings = 20;
  constexpr double kEnough = 0.01;  // squared, in standard deviations
  constexpr double kSmallestPivot = 1e-15;
  Mode out{Eigen::VectorXd::Zero(a.cols()), {}, 0, true};
  if (a.cols() == 0) return out;
  auto at_mode = rows.derivatives(base);
  double value = at_mode.log_likelihood;
  for (int i = 0; i < kSteps; ++i) {
    out.lower = information(a, at_mode.minus_second);
    // It need not be accurate, only a function of A and base.
    out.ok = linalg::factorise(out.lower, kSmallestPivot);
    if (!out.ok) return out;
    const auto lower = out.lower.triangularView<Eigen::Lower>();
    Eigen::VectorXd step = a.transpose() * at_mode.first - out.at;
    lower.solveInPlace(step);
    if (step.squaredNorm() < kEnough) break;
    out.lower.transpose().triangularView<Eigen::Upper>().solveInPlace(step);
    bool higher = false;
    for (int half = 0; half < kHalvings && !higher; ++half, step /= 2) {
      const Eigen::VectorXd at = out.at + step;
      auto next = rows.derivatives(base + a * at);
      const double next_value = next.log_likelihood - 0.5 * at.squaredNorm();
      higher = next_value > value;
      if (!higher) continue;
      value = next_value;
      out.at = at;
      at_mode = std::move(next);
    }
    if (!higher) break;
  }
  out.log_determinant = out.lower.diagonal().array().log().sum();
  return out;
}

// In units in which the normal distribution is standard.
bool ellipse_move(const Likelihood& rows, const Mode& mode,
                  const Eigen::MatrixXd& a, const Eigen::VectorXd& base,
                  Standardised& state, Rng& rng) {
  if (!mode.ok) return false;
  const auto upper = mode.lower.transpose().triangularView<Eigen::Upper>();
  const Eigen::VectorXd off = upper * (state.w - mode.at);
  Eigen::VectorXd other(off.size());
  for (double& value : other) value = rng.normal();
  const double level = state.log_likelihood - 0.5 * state.w.squaredNorm() +
                       0.5 * off.squaredNorm() + std::log(1 - rng.uniform());
  const auto take = [&](double cosine, double sine) {
    const Eigen::VectorXd z = cosine * off + sine * other;
    const Eigen::VectorXd next = mode.at + upper.solve(z);
    Eigen::VectorXd fit = base + a * next;
    const double log_likelihood = rows.log_likelihood(fit);
    if (!(log_likelihood - 0.5 * next.squaredNorm() + 0.5 * z.squaredNorm() >
          level)) {
      return false;
    }
    state = {next, std::move(fit), log_likelihood};
    return true;
  };
  return slice_ellipse(take, rng);
}

}  // namespace kernelbayes::bark
