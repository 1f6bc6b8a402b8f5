// Hamiltonian dynamics of all coefficients and common scales at once (Duane et
// al., 1987; Neal, 2011): (B98).
#include "core/bark/moves/moves.hpp"
#include "open.hpp"

namespace kernelbayes::bark {

/// Position q: asinh(beta / width) of each slot, then the logarithms of the
/// common scales that are included; equal ones are one.
class OpenState::Path {
 public:
  explicit Path(OpenState& state);
  /// The density at q and its gradient; false if they are not finite.
  bool evaluate();
  void take();

  Eigen::VectorXd q, gradient;
  double log_density = 0;

 private:
  int scale_at(int c) const { return m_ + (prior_.equal() ? 0 : c); }
  void add_scales(const Eigen::VectorXd& first);
  Eigen::MatrixXd centres() const;

  OpenState& state_;
  const Prior& prior_;
  std::vector<int> predictors_;
  int m_, scales_;
  double log_likelihood_ = 0;
  Eigen::VectorXd beta_, fit_;
};

OpenState::Path::Path(OpenState& state)
    : state_(state), prior_(*state.prior_), m_(state.size()), beta_(m_) {
  for (std::size_t l = 0; l < state.included().size(); ++l) {
    if (prior_.own_scales || !state.included()[l]) continue;
    predictors_.push_back(static_cast<int>(l));
  }
  const int d = static_cast<int>(predictors_.size());
  scales_ = prior_.equal() ? std::min(d, 1) : d;
  q.resize(m_ + scales_);
  gradient.resize(m_ + scales_);
  for (int j = 0; j < m_; ++j) {
    q[j] = std::asinh(state.beta_[j] / state.width(j));
  }
  for (int c = 0; c < d; ++c) {
    q[scale_at(c)] = state.log_lambda()[predictors_[c]];
  }
}

bool OpenState::Path::evaluate() {
  if (!(q.head(m_).cwiseAbs().maxCoeff() < kLargest)) return false;
  ScaleChange change;
  for (std::size_t c = 0; c < predictors_.size(); ++c) {
    const double log_lambda = q[scale_at(static_cast<int>(c))];
    change.ones.push_back({predictors_[c], log_lambda, 1});
  }
  state_.columns_.propose_scales(change, state_.places(), *state_.response_);
  const auto k = state_.columns_.proposed_values().leftCols(m_);
  const double a = state_.root_amplitude_;
  for (int j = 0; j < m_; ++j) beta_[j] = state_.width(j) * std::sinh(q[j]);
  fit_ = a * (k * beta_);
  const auto rows = state_.rows_.derivatives(fit_);
  log_likelihood_ = rows.log_likelihood;
  log_density = log_likelihood_;
  const Eigen::VectorXd score = a * (k.transpose() * rows.first);
  for (int j = 0; j < m_; ++j) {
    log_density -= log_cosh(q[j]);
    gradient[j] =
        score[j] * state_.width(j) * std::cosh(q[j]) - std::tanh(q[j]);
  }
  if (scales_ > 0) add_scales(a * rows.first);
  return std::isfinite(log_density) && gradient.allFinite();
}

// Centres of kernels in the included inputs; 0 for the intercept.
Eigen::MatrixXd OpenState::Path::centres() const {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(m_, predictors_.size());
  for (int j = 0; j < m_; ++j) {
    const Slot& slot = state_.slots_[j];
    if (slot.location == 0) continue;
    for (std::size_t c = 0; c < predictors_.size(); ++c) {
      out(j, c) = state_.columns_.centre_of({slot.location, slot.shape},
                                            predictors_[c]);
    }
  }
  return out;
}

// sum_ij (x_il - c_jl)^2 W_ij with W = diag(first) K diag(beta), from sums over
// rows and over columns.
void OpenState::Path::add_scales(const Eigen::VectorXd& first) {
  const int d = static_cast<int>(predictors_.size());
  const double shape = prior_.equal() ? prior_.a : prior_.share_shape(d);
  const double rate = prior_.b * (prior_.equal() ? d : 1);
  for (int i = m_; i < q.size(); ++i) {
    log_density += shape * q[i] - rate * std::exp(q[i]);
    gradient[i] = shape - rate * std::exp(q[i]);
  }
  Eigen::VectorXd beta = beta_;
  for (int j = 0; j < m_; ++j) {
    if (state_.slots_[j].location == 0) beta[j] = 0;
  }
  const auto k = state_.columns_.proposed_values().leftCols(m_);
  const Eigen::MatrixXd w = first.asDiagonal() * k * beta.asDiagonal();
  const Eigen::VectorXd rows = w.rowwise().sum();
  const Eigen::VectorXd columns = w.colwise().sum().transpose();
  const Eigen::MatrixXd c = centres(), mixed = w * c;
  for (int l = 0; l < d; ++l) {
    const auto x = state_.columns_.inputs().col(predictors_[l]);
    const double sum = x.cwiseAbs2().dot(rows) - 2 * x.dot(mixed.col(l)) +
                       c.col(l).cwiseAbs2().dot(columns);
    gradient[scale_at(l)] -= std::exp(q[scale_at(l)]) * sum;
  }
}

void OpenState::Path::take() {
  state_.columns_.accept_proposal();
  state_.fit_ = fit_;
  state_.log_likelihood_ = log_likelihood_;
  for (int j = 0; j < m_; ++j) state_.beta_[j] = beta_[j];
}

OpenState::Followed OpenState::follow(double step, int steps, Rng& rng) {
  if (size() == 0) return {};
  Path path(*this);
  if (!path.evaluate()) return {};
  const double before = path.log_density;
  Eigen::VectorXd momentum(path.q.size());
  for (double& value : momentum) value = rng.normal();
  const double energy = 0.5 * momentum.squaredNorm();
  for (int i = 0; i < steps; ++i) {
    momentum += 0.5 * step * path.gradient;
    path.q += step * momentum;
    if (!path.evaluate()) return {};
    momentum += 0.5 * step * path.gradient;
  }
  const double log_ratio =
      path.log_density - before + energy - 0.5 * momentum.squaredNorm();
  if (!std::isfinite(log_ratio)) return {};
  const bool moved = accept(log_ratio, rng);
  if (moved) path.take();
  return {moved, std::min(1.0, std::exp(log_ratio))};
}

}  // namespace kernelbayes::bark
