#include "open.hpp"

#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "core/bark/moves/moves.hpp"
#include "normal_interval.hpp"

namespace kernelbayes::bark {

double Intervals::log_likelihood(const Eigen::VectorXd& f) const {
  double sum = 0;
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    sum += log_normal_between(lower[i] - f[i], upper[i] - f[i]);
  }
  return sum;
}

// (B90).
Intervals::Derivatives Intervals::derivatives(const Eigen::VectorXd& f) const {
  Derivatives out{0, Eigen::VectorXd(f.size()), Eigen::VectorXd(f.size())};
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    const NormalInterval at(lower[i] - f[i], upper[i] - f[i]);
    out.log_likelihood += at.log_p;
    out.first[i] = at.first;
    out.minus_second[i] = at.minus_second;
  }
  return out;
}

Eigen::VectorXd Intervals::draw(const Eigen::VectorXd& f, Rng& rng) const {
  Eigen::VectorXd out(f.size());
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    out[i] = normal_between(f[i], 1, lower[i], upper[i], rng);
  }
  return out;
}

Intervals class_intervals(const State& state) {
  const Eigen::Index n = state.data().n();
  Intervals out{Eigen::VectorXd(n), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    out.lower[i] = state.lower(i);
    out.upper[i] = state.upper(i);
  }
  return out;
}

OpenState::OpenState(const State& state, Intervals rows, Rng& rng)
    : data_(&state.data()),
      prior_(&state.prior()),
      pool_(&state.pool()),
      response_(&state.response_model()),
      rows_(std::move(rows)),
      columns_(state.kernel_columns()),
      at_(state.data().n() + 1, -1),
      copies_(state.copies()),
      root_amplitude_(std::sqrt(state.amplitude())),
      fit_(Eigen::VectorXd::Zero(state.data().n())) {
  if (state.size() > 0) {
    const State::Factor factor = state.factor();
    ok_ = factor.ok;
    if (!ok_) return;
    const Eigen::VectorXd beta = State::draw_coefficients(factor, rng);
    fit_ = state.columns() * beta;
    for (const double value : beta) beta_.push_back(value / root_amplitude_);
  }
  for (int j = 0; j < state.size(); ++j) {
    slots_.push_back(state.slot(j));
    if (!prior_->shaped()) at_[slots_[j].location] = j;
  }
  log_likelihood_ = rows_.log_likelihood(fit_);
}

void OpenState::give(State& state, Rng& rng) const {
  std::vector<Slot> slots = slots_;
  for (int j = 0; j < size(); ++j) {
    slots[j].varphi = {prior_->draw_varphi(beta_[j] / slots[j].copies, rng)};
  }
  state.assign(std::move(slots), log_lambda(), included(), state.noise());
  state.set_response(rows_.draw(fit_, rng));
}

int OpenState::find(int location) const {
  return prior_->shaped() ? -1 : at_[location];
}

std::vector<Place> OpenState::places() const {
  std::vector<Place> out;
  for (const Slot& slot : slots_) out.push_back({slot.location, slot.shape});
  return out;
}

OpenState::NewColumn OpenState::make_column(const Place& place) const {
  NewColumn out{place, Eigen::VectorXd(data_->n()),
                Eigen::VectorXd(data_->n())};
  columns_.fill(place, *response_, out.exponents, out.values);
  return out;
}

bool OpenState::take(Eigen::VectorXd fit, double log_ratio, Rng& rng) {
  const double log_likelihood = rows_.log_likelihood(fit);
  if (!accept(log_likelihood - log_likelihood_ + log_ratio, rng)) return false;
  fit_ = std::move(fit);
  log_likelihood_ = log_likelihood;
  return true;
}

bool OpenState::set_coefficient(int j, double beta, double log_ratio,
                                Rng& rng) {
  const double step = root_amplitude_ * (beta - beta_[j]);
  if (!take(fit_ + step * columns().col(j), log_ratio, rng)) return false;
  beta_[j] = beta;
  return true;
}

bool OpenState::set_copies(int j, int copies, double log_ratio, Rng& rng) {
  if (!accept(log_ratio, rng)) return false;
  copies_ += copies - slots_[j].copies;
  slots_[j].copies = copies;
  return true;
}

bool OpenState::add(NewColumn column, double beta, double log_ratio, Rng& rng) {
  if (!take(fit_ + root_amplitude_ * beta * column.values, log_ratio, rng)) {
    return false;
  }
  const int j = size();
  if (j == columns_.capacity()) columns_.reserve(2 * j);
  columns_.put(j, column.exponents, column.values);
  if (!prior_->shaped()) at_[column.place.location] = j;
  slots_.push_back({column.place.location, 1, {1}, column.place.shape});
  beta_.push_back(beta);
  ++copies_;
  return true;
}

bool OpenState::remove(int j, double log_ratio, Rng& rng) {
  const double step = root_amplitude_ * beta_[j];
  if (!take(fit_ - step * columns().col(j), log_ratio, rng)) return false;
  const int last = size() - 1;
  copies_ -= slots_[j].copies;
  if (!prior_->shaped()) {
    at_[slots_[last].location] = j;
    at_[slots_[j].location] = -1;
  }
  if (j != last) {
    columns_.move(last, j);
    slots_[j] = slots_[last];
    beta_[j] = beta_[last];
  }
  slots_.pop_back();
  beta_.pop_back();
  return true;
}

bool OpenState::move(int j, NewColumn column, double log_ratio, Rng& rng) {
  const double step = root_amplitude_ * beta_[j];
  if (!take(fit_ + step * (column.values - columns().col(j)), log_ratio, rng)) {
    return false;
  }
  columns_.put(j, column.exponents, column.values);
  if (!prior_->shaped()) {
    at_[slots_[j].location] = -1;
    at_[column.place.location] = j;
  }
  slots_[j].location = column.place.location;
  slots_[j].shape = column.place.shape;
  return true;
}

bool OpenState::change(const ScaleChange& change, double log_ratio, Rng& rng) {
  columns_.propose_scales(change, places(), *response_);
  if (held_ && size() > 0) return carry(log_ratio, rng);
  const Eigen::Map<const Eigen::VectorXd> beta(beta_.data(), size());
  Eigen::VectorXd fit =
      root_amplitude_ * (columns_.proposed_values().leftCols(size()) * beta);
  if (!take(std::move(fit), log_ratio, rng)) return false;
  columns_.accept_proposal();
  return true;
}

// Moves given varphi: changes of scales that carry the coefficients along, and
// new coefficients.

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
