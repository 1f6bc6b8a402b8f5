// One slot at a time: how a birth, a death or a new variance changes the
// likelihood and the posterior of the coefficients. (B19) to (B22).
#include "state.hpp"

namespace kernelbayes::bark {

namespace {

// From Sig_jj, mu_j and v_j: (B19). Precisions are below 0 only by rounding.
Information information_of(double own, double mean, double variance) {
  return {std::max(1 / own - 1 / variance, 0.0), mean / own};
}

}  // namespace

// Of a coefficient in units in which the slot has its variance.
Information State::in_slot_units(double precision, double score) const {
  return {amplitude_ * precision, std::sqrt(amplitude_) * score};
}

Information State::information(int j) const {
  const Information data =
      information_of(covariance_(j, j), mean_[j], variance_[j]);
  return in_slot_units(data.precision, data.score);
}

// y'Ay / phi, (B146); below 0 only by rounding.
double State::left_of_response() const {
  return std::max(response_.squares() - product_.head(size()).dot(mean()), 0.0);
}

double State::left_of_response(const Change& before) const {
  const double lost =
      product_.head(size()).dot(covariance_.col(before.slot).head(size()));
  const double explained = product_.head(size()).dot(mean()) -
                           before.kappa * mean_[before.slot] * lost;
  return std::max(response_.squares() - explained, 0.0);
}

// What is left of a column after its digits cancel is no information, and no
// score is larger than the response allows, (B146).
Information State::information(double own, double explained, double score,
                               double left_of_response) const {
  constexpr double kRounding = 1e-12;
  const double left = own - phi_ * explained;
  if (left <= kRounding * own) return {0, 0};
  const double most = std::sqrt(left * left_of_response);
  return {phi_ * left, phi_ * std::min(std::max(score, -most), most)};
}

Information State::information(const Column& column) const {
  const Eigen::VectorXd u = covariance() * column.gram;
  const Information data = information(
      column.own, column.gram.dot(u), column.response - column.gram.dot(mean()),
      left_of_response());
  return in_slot_units(data.precision, data.score);
}

Information State::information(const Column& column,
                               const Change& before) const {
  const int j = before.slot;
  const Eigen::VectorXd cross = covariance_.col(j).head(size());
  Eigen::VectorXd u = covariance() * column.gram;
  u -= before.kappa * u[j] * cross;
  const double fitted = column.gram.dot(mean()) -
                        before.kappa * mean_[j] * column.gram.dot(cross);
  const Information data =
      information(column.own, column.gram.dot(u), column.response - fitted,
                  left_of_response(before));
  return in_slot_units(data.precision, data.score);
}

Change State::change_of(int j, double own, double mean, double variance,
                        double before) const {
  const double v = variance_[j];
  const Information data = information_of(own, mean, v);
  // (B21): e / (1 + e own) with e = 1 / v' - 1 / v, which tends to 1 / own.
  const double kappa = (v - variance) / (v * variance + (v - variance) * own);
  return {j, kappa, before + data.log_ratio(variance) - data.log_ratio(v)};
}

Change State::score_change(int j, double variance) const {
  return change_of(j, covariance_(j, j), mean_[j], amplitude_ * variance, 0);
}

Change State::score_change(int j, double variance, const Change& before) const {
  const double cross = covariance_(before.slot, j);
  return change_of(j, covariance_(j, j) - before.kappa * cross * cross,
                   mean_[j] - before.kappa * mean_[before.slot] * cross,
                   amplitude_ * variance, before.log_ratio);
}

void State::shrink(const Change& change) {
  const int m = size(), j = change.slot;
  const Eigen::VectorXd cross = covariance_.col(j).head(m);
  mean_.head(m) -= change.kappa * mean_[j] * cross;
  covariance_.topLeftCorner(m, m).noalias() -=
      change.kappa * cross * cross.transpose();
  log_likelihood_ += change.log_ratio;
}

void State::set_slot(const Change& change, Slot slot) {
  shrink(change);
  relabel(change.slot, std::move(slot));
}

// Also the variance: a restored state takes it from the slot.
void State::relabel(int j, Slot slot) {
  copies_ += slot.copies - slots_[j].copies;
  variance_[j] = amplitude_ * slot.variance(prior_->collapsed());
  slots_[j] = std::move(slot);
}

void State::remove(const Change& change) {
  shrink(change);
  const int j = change.slot, last = size() - 1;
  copies_ -= slots_[j].copies;
  set_at(slots_[j].location, -1);
  if (j != last) {
    slots_[j] = std::move(slots_[last]);
    variance_[j] = variance_[last];
    set_at(slots_[j].location, j);
    columns_.move(last, j);
    for (Eigen::MatrixXd* matrix : {&gram_, &covariance_}) {
      matrix->col(j).head(last + 1) = matrix->col(last).head(last + 1).eval();
      matrix->row(j).head(last + 1) = matrix->row(last).head(last + 1).eval();
    }
    product_[j] = product_[last];
    mean_[j] = mean_[last];
  }
  slots_.pop_back();
  variance_.pop_back();
}

// (B22), the column beside others, which have products with it: everything but
// the slot.
double State::take_column(int j, const Column& column, double variance) {
  const Eigen::Index m = column.gram.size();
  auto others = covariance_.topLeftCorner(m, m);
  const Eigen::VectorXd u = others * column.gram;
  const Information data = information(
      column.own, column.gram.dot(u),
      column.response - column.gram.dot(mean_.head(m)), left_of_response());
  const double precision = 1 / variance + data.precision;
  const double own = data.score / precision;
  others.noalias() += phi_ * phi_ / precision * u * u.transpose();
  covariance_.col(j).head(m) = -phi_ / precision * u;
  covariance_.row(j).head(m) = covariance_.col(j).head(m).transpose();
  covariance_(j, j) = 1 / precision;
  mean_.head(m) -= phi_ * own * u;
  mean_[j] = own;
  columns_.put(j, column.exponents, column.values);
  gram_.col(j).head(m) = column.gram;
  gram_.row(j).head(m) = column.gram.transpose();
  gram_(j, j) = column.own;
  product_[j] = column.response;
  return 0.5 * (own * own * precision - std::log(variance * precision));
}

void State::add(const Column& column, Slot slot) {
  const int m = size();
  const double variance = amplitude_ * slot.variance(prior_->collapsed());
  reserve(m + 1);
  log_likelihood_ += take_column(m, column, variance);
  copies_ += slot.copies;
  set_at(slot.location, m);
  variance_.push_back(variance);
  slots_.push_back(std::move(slot));
}

// Without the slot its variance is 0, and products with it do not count.
void State::replace(const Change& out, const Column& column, Slot slot) {
  const int m = size(), j = out.slot;
  shrink(out);
  covariance_.col(j).head(m).setZero();
  covariance_.row(j).head(m).setZero();
  mean_[j] = 0;
  set_at(slots_[j].location, -1);
  set_at(slot.location, j);
  const double variance = amplitude_ * slot.variance(prior_->collapsed());
  log_likelihood_ += take_column(j, column, variance);
  relabel(j, std::move(slot));
}

}  // namespace kernelbayes::bark
