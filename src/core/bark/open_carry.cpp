// Moves given varphi: changes of scales that carry the coefficients along, and
// new coefficients.
#include "../decompositions.hpp"
#include "ellipse_slice.hpp"
#include "moves.hpp"
#include "open.hpp"

namespace kernelbayes {
namespace bark {

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

void OpenState::hold(Rng& rng) {
  Held held{Eigen::VectorXd(size()), {}};
  for (int j = 0; j < size(); ++j) {
    const int copies = slots_[j].copies;
    const double varphi = prior_->draw_varphi(beta_[j] / copies, rng);
    held.s[j] = root_amplitude_ * copies / std::sqrt(varphi);
  }
  held.mode = find_mode(columns(), held.s);
  held_ = std::move(held);
}

// Newton's method, from a point that does not depend on the state: what it
// finds, converged or not, is a function of the columns and s.
OpenState::Mode OpenState::find_mode(Eigen::Ref<const Eigen::MatrixXd> columns,
                                     const Eigen::VectorXd& s) const {
  constexpr int kSteps = 50, kHalvings = 20;
  constexpr double kEnough = 0.01;  // squared, in standard deviations
  const Eigen::MatrixXd a = columns * s.asDiagonal();
  Mode out{Eigen::VectorXd::Zero(s.size()), {}, 0, true};
  if (s.size() == 0) return out;
  auto rows = rows_.derivatives(Eigen::VectorXd::Zero(data_->n()));
  double value = rows.log_likelihood;
  for (int i = 0; i < kSteps; ++i) {
    out.lower = information(a, rows.minus_second);
    out.ok = linalg::factorise(out.lower);
    if (!out.ok) return out;
    const auto lower = out.lower.triangularView<Eigen::Lower>();
    Eigen::VectorXd step = a.transpose() * rows.first - out.at;
    lower.solveInPlace(step);
    if (step.squaredNorm() < kEnough) break;
    out.lower.transpose().triangularView<Eigen::Upper>().solveInPlace(step);
    bool higher = false;
    for (int half = 0; half < kHalvings && !higher; ++half, step /= 2) {
      const Eigen::VectorXd at = out.at + step;
      auto next = rows_.derivatives(a * at);
      const double next_value = next.log_likelihood - 0.5 * at.squaredNorm();
      higher = next_value > value;
      if (!higher) continue;
      value = next_value;
      out.at = at;
      rows = std::move(next);
    }
    if (!higher) break;
  }
  out.log_determinant = out.lower.diagonal().array().log().sum();
  return out;
}

Eigen::VectorXd OpenState::standardised() const {
  Eigen::VectorXd w(size());
  for (int j = 0; j < size(); ++j) {
    w[j] = root_amplitude_ * beta_[j] / held_->s[j];
  }
  return w;
}

void OpenState::take_standardised(const Eigen::VectorXd& w) {
  for (int j = 0; j < size(); ++j) {
    beta_[j] = held_->s[j] * w[j] / root_amplitude_;
  }
}

// (B96). A mode that cannot be computed, on either side, is a rejection.
bool OpenState::carry(double log_ratio, Rng& rng) {
  const Mode& from = held_->mode;
  const auto proposed = columns_.proposed_values().leftCols(size());
  Mode to = find_mode(proposed, held_->s);
  if (!from.ok || !to.ok) return false;
  const Eigen::VectorXd w = standardised();
  const Eigen::VectorXd z =
      from.lower.transpose().triangularView<Eigen::Upper>() * (w - from.at);
  const Eigen::VectorXd next =
      to.at + to.lower.transpose().triangularView<Eigen::Upper>().solve(z);
  log_ratio += 0.5 * (w.squaredNorm() - next.squaredNorm()) +
               from.log_determinant - to.log_determinant;
  if (!std::isfinite(log_ratio)) return false;
  if (!take(proposed * held_->s.cwiseProduct(next), log_ratio, rng)) {
    return false;
  }
  columns_.accept_proposal();
  take_standardised(next);
  held_->mode = std::move(to);
  return true;
}

// Elliptical slice sampling (Murray, Adams and MacKay, 2010) around the normal
// distribution at the mode, (B97), in units in which that is standard.
bool OpenState::ellipse(Rng& rng) {
  const Mode& mode = held_->mode;
  if (size() == 0 || !mode.ok) return false;
  const auto upper = mode.lower.transpose().triangularView<Eigen::Upper>();
  const Eigen::MatrixXd a = columns() * held_->s.asDiagonal();
  const Eigen::VectorXd w = standardised();
  const Eigen::VectorXd off = upper * (w - mode.at);
  Eigen::VectorXd other(size());
  for (double& value : other) value = rng.normal();
  const double level = log_likelihood_ - 0.5 * w.squaredNorm() +
                       0.5 * off.squaredNorm() + std::log(1 - rng.uniform());
  const auto take = [&](double cosine, double sine) {
    const Eigen::VectorXd z = cosine * off + sine * other;
    const Eigen::VectorXd next = mode.at + upper.solve(z);
    Eigen::VectorXd fit = a * next;
    const double log_likelihood = rows_.log_likelihood(fit);
    if (!(log_likelihood - 0.5 * next.squaredNorm() + 0.5 * z.squaredNorm() >
          level)) {
      return false;
    }
    take_standardised(next);
    fit_ = std::move(fit);
    log_likelihood_ = log_likelihood;
    return true;
  };
  return slice_ellipse(take, rng);
}

}  // namespace bark
}  // namespace kernelbayes
