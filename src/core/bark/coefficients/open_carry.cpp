// Moves given varphi: changes of scales that carry the coefficients along, and
// new coefficients.
#include "core/bark/moves/moves.hpp"
#include "open.hpp"

namespace kernelbayes::bark {

void OpenState::hold(Rng& rng) {
  Held held{Eigen::VectorXd(size()), {}};
  for (int j = 0; j < size(); ++j) {
    const int copies = slots_[j].copies;
    const double varphi = prior_->draw_varphi(beta_[j] / copies, rng);
    held.s[j] = root_amplitude_ * copies / std::sqrt(varphi);
  }
  held.mode = carried_mode(columns(), held.s);
  held_ = std::move(held);
}

// Of the columns and s only.
Mode OpenState::carried_mode(Eigen::Ref<const Eigen::MatrixXd> columns,
                             const Eigen::VectorXd& s) const {
  return find_mode(rows_, columns * s.asDiagonal(),
                   Eigen::VectorXd::Zero(data_->n()));
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
  Mode to = carried_mode(proposed, held_->s);
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

bool OpenState::ellipse(Rng& rng) {
  if (size() == 0) return false;
  Standardised state{standardised(), fit_, log_likelihood_};
  const Eigen::MatrixXd a = columns() * held_->s.asDiagonal();
  if (!ellipse_move(rows_, held_->mode, a, Eigen::VectorXd::Zero(data_->n()),
                    state, rng)) {
    return false;
  }
  take_standardised(state.w);
  fit_ = std::move(state.fit);
  log_likelihood_ = state.log_likelihood;
  return true;
}

}  // namespace kernelbayes::bark
