#include "state.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <limits>
#include <stdexcept>

namespace kernelbayes {
namespace bark {

namespace {

constexpr double kLogTwoPi = 1.8378770664093454836;

}  // namespace

State::State(const Data& data, const Prior& prior)
    : data_(&data),
      prior_(&prior),
      response_(data.probit() ? Eigen::VectorXd::Zero(data.n()) : data.y),
      log_weights_(0.5 * data.weights.array().log().sum()),
      at_(data.n() + 1, -1),
      log_lambda_(data.p(), 0.0),
      included_(data.p(), 1),
      n_included_(data.p()) {
  if (data.y.size() != data.x.rows() || data.weights.size() != data.x.rows()) {
    throw std::invalid_argument("x, y and weights differ in length");
  }
  const bool weighted = (data.weights.array() != 1).any();
  if (data.probit() && (weighted || (data.y.array().abs() != 1).any())) {
    throw std::invalid_argument(
        "a probit model wants y of -1 and 1, weights 1");
  }
  if (weighted) {
    root_weights_ = data.weights.cwiseSqrt();
    response_.array() *= root_weights_.array();
  }
  squares_ = response_.squaredNorm();
  reserve(8);
  refresh();
}

double State::total_scale() const {
  double sum = 0;
  for (int l = 0; l < data_->p(); ++l) {
    if (included_[l]) sum += std::exp(log_lambda_[l]);
  }
  return sum;
}

void State::reserve(int slots) {
  const int capacity = static_cast<int>(gram_.rows());
  if (slots <= capacity) return;
  const int wanted = std::max(slots, 2 * capacity);
  exponents_.conservativeResize(data_->n(), wanted);
  values_.conservativeResize(data_->n(), wanted);
  gram_.conservativeResize(wanted, wanted);
  covariance_.conservativeResize(wanted, wanted);
  product_.conservativeResize(wanted);
  mean_.conservativeResize(wanted);
}

// sum_l lambda_l (x_il - c_l)^2 for all rows i; the intercept's are 0.
void State::fill_exponents(int location,
                           Eigen::Ref<Eigen::VectorXd> out) const {
  out.setZero();
  if (location == 0) return;
  for (int l = 0; l < data_->p(); ++l) {
    if (!included_[l]) continue;
    const double lambda = std::exp(log_lambda_[l]);
    const auto column = data_->x.col(l).array();
    out.array() += lambda * (column - data_->x(location - 1, l)).square();
  }
}

// The same for all slots, one predictor, added.
void State::add_exponents(Eigen::MatrixXd& exponents, int l,
                          double scale) const {
  const auto column = data_->x.col(l).array();
  for (int j = 0; j < size(); ++j) {
    const int location = slots_[j].location;
    if (location == 0) continue;
    exponents.col(j).array() +=
        scale * (column - data_->x(location - 1, l)).square();
  }
}

// One number at a time: the C library's exponential is at least as fast as
// vectors without wide registers, and its bits do not depend on the position.
void State::fill_values(Eigen::Ref<const Eigen::MatrixXd> exponents,
                        Eigen::Ref<Eigen::MatrixXd> out) const {
  out = exponents.unaryExpr([](double e) { return std::exp(-e); });
  if (root_weights_.size() == 0) return;
  out.array().colwise() *= root_weights_.array();
}

void State::fill_columns(const std::vector<int>& locations,
                         Eigen::MatrixXd& exponents,
                         Eigen::MatrixXd& values) const {
  exponents.resize(data_->n(), locations.size());
  values.resize(data_->n(), locations.size());
  for (std::size_t i = 0; i < locations.size(); ++i) {
    fill_exponents(locations[i], exponents.col(i));
  }
  fill_values(exponents, values);
}

Column State::make_column(int location) const {
  Column out;
  out.location = location;
  out.exponents.resize(data_->n());
  out.values.resize(data_->n());
  fill_exponents(location, out.exponents);
  fill_values(out.exponents, out.values);
  out.gram.noalias() = columns().transpose() * out.values;
  out.own = out.values.squaredNorm();
  out.response = out.values.dot(response_);
  return out;
}

namespace {

// From Sig_jj, mu_j and v_j. No precision is below 0, but its rounding.
Information information_of(double own, double mean, double variance) {
  return {std::max(1 / own - 1 / variance, 0.0), mean / own};
}

}  // namespace

// Of a coefficient in units in which its variance is what the slot says.
Information State::in_slot_units(double precision, double score) const {
  return {amplitude_ * precision, std::sqrt(amplitude_) * score};
}

Information State::information(int j) const {
  const Information data =
      information_of(covariance_(j, j), mean_[j], variance_[j]);
  return in_slot_units(data.precision, data.score);
}

Information State::information(const Column& column) const {
  const Eigen::VectorXd u = covariance() * column.gram;
  const double left = column.own - phi_ * column.gram.dot(u);
  return in_slot_units(phi_ * std::max(left, 0.0),
                       phi_ * (column.response - column.gram.dot(mean())));
}

Information State::information(const Column& column,
                               const Change& before) const {
  const int j = before.slot;
  const Eigen::VectorXd cross = covariance_.col(j).head(size());
  Eigen::VectorXd u = covariance() * column.gram;
  u -= before.kappa * u[j] * cross;
  const double left = column.own - phi_ * column.gram.dot(u);
  const double explained = column.gram.dot(mean()) -
                           before.kappa * mean_[j] * column.gram.dot(cross);
  return in_slot_units(phi_ * std::max(left, 0.0),
                       phi_ * (column.response - explained));
}

Change State::change_of(int j, double own, double mean, double variance,
                        double before) const {
  const double v = variance_[j];
  const Information data = information_of(own, mean, v);
  // e / (1 + e own) with e = 1 / v' - 1 / v, which tends to 1 / own.
  const double kappa = (v - variance) / (v * variance + (v - variance) * own);
  return {j, kappa,
          before + data.log_ratio(variance) - data.log_ratio(v)};
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

// The variance too: a restored state has it from the slot.
void State::relabel(int j, Slot slot) {
  copies_ += slot.copies - slots_[j].copies;
  variance_[j] = amplitude_ * slot.variance(prior_->collapsed());
  slots_[j] = std::move(slot);
}

void State::remove(const Change& change) {
  shrink(change);
  const int j = change.slot, last = size() - 1;
  copies_ -= slots_[j].copies;
  at_[slots_[j].location] = -1;
  if (j != last) {
    slots_[j] = std::move(slots_[last]);
    variance_[j] = variance_[last];
    at_[slots_[j].location] = j;
    exponents_.col(j) = exponents_.col(last);
    values_.col(j) = values_.col(last);
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

void State::add(const Column& column, Slot slot) {
  const int m = size();
  const double variance = amplitude_ * slot.variance(prior_->collapsed());
  reserve(m + 1);
  const Eigen::VectorXd u = covariance() * column.gram;
  const double left = column.own - phi_ * column.gram.dot(u);
  const double precision = 1 / variance + phi_ * std::max(left, 0.0);
  const double residual = column.response - column.gram.dot(mean());
  const double own = phi_ * residual / precision;
  log_likelihood_ += 0.5 * (own * own * precision -
                            std::log(variance * precision));
  covariance_.topLeftCorner(m, m).noalias() +=
      phi_ * phi_ / precision * u * u.transpose();
  covariance_.col(m).head(m) = -phi_ / precision * u;
  covariance_.row(m).head(m) = covariance_.col(m).head(m).transpose();
  covariance_(m, m) = 1 / precision;
  mean_.head(m) -= phi_ * own * u;
  mean_[m] = own;
  exponents_.col(m) = column.exponents;
  values_.col(m) = column.values;
  gram_.col(m).head(m) = column.gram;
  gram_.row(m).head(m) = column.gram.transpose();
  gram_(m, m) = column.own;
  product_[m] = column.response;
  copies_ += slot.copies;
  at_[slot.location] = m;
  variance_.push_back(variance);
  slots_.push_back(std::move(slot));
}

namespace {

// factor factor', half of it computed.
template <typename Derived>
void square_into(const Eigen::MatrixBase<Derived>& factor,
                 Eigen::Block<Eigen::MatrixXd> out) {
  out.triangularView<Eigen::Lower>().setZero();
  out.selfadjointView<Eigen::Lower>().rankUpdate(factor);
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
}

}  // namespace

void State::sum_up(const Eigen::MatrixXd& values, Eigen::MatrixXd& gram,
                   Eigen::VectorXd& product) const {
  const int m = size();
  const auto columns = values.leftCols(m);
  square_into(columns.transpose(), gram.topLeftCorner(m, m));
  product.head(m).noalias() = columns.transpose() * response_;
}

Eigen::VectorXd State::deviations() const {
  Eigen::VectorXd s(size());
  for (int j = 0; j < size(); ++j) s[j] = std::sqrt(variance_[j]);
  return s;
}

// The factor of M = I + phi s s' * G, and z = L^-1 phi s * K'Wy.
State::Factor State::scaled_factor(const Eigen::MatrixXd& values,
                                   const Eigen::MatrixXd& gram,
                                   const Eigen::VectorXd& product,
                                   double phi,
                                   const Eigen::VectorXd& s) const {
  const int m = size();
  Factor out;
  if (m == 0) return out;
  const Eigen::VectorXd scaled = phi * s;
  out.lower = scaled.asDiagonal() * gram.topLeftCorner(m, m) * s.asDiagonal();
  out.lower.diagonal().array() += 1;
  const Eigen::VectorXd diagonal = out.lower.diagonal();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(out.lower);
  constexpr double kSmallestPivot = 1e-9;
  const auto pivots = out.lower.diagonal().array();
  // Written so that a NaN fails it.
  if (llt.info() != Eigen::Success ||
      !((pivots.square() / diagonal.array()).minCoeff() >= kSmallestPivot) ||
      !diagonal.allFinite()) {
    return scaled_factor_by_qr(values, s, phi);
  }
  out.z = scaled.cwiseProduct(product.head(m));
  llt.matrixL().solveInPlace(out.z);
  return out;
}

// The same from an orthogonal factor of [sqrt(phi) W^(1/2) K s; I]: nearly
// collinear columns with huge variances lose all digits in the Gram form.
State::Factor State::scaled_factor_by_qr(const Eigen::MatrixXd& values,
                                         const Eigen::VectorXd& s,
                                         double phi) const {
  const int m = size(), n = data_->n();
  const double root = std::sqrt(phi);
  Eigen::MatrixXd stacked(n + m, m);
  stacked.topRows(n) = values.leftCols(m) * (root * s).asDiagonal();
  stacked.bottomRows(m).setIdentity();
  Eigen::VectorXd target = Eigen::VectorXd::Zero(n + m);
  target.head(n) = root * response_;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(stacked);
  Eigen::MatrixXd upper =
      qr.matrixQR().topRows(m).triangularView<Eigen::Upper>();
  Eigen::VectorXd z = (qr.householderQ().transpose() * target).head(m);
  for (int j = 0; j < m; ++j) {
    if (upper(j, j) >= 0) continue;
    upper.row(j) *= -1;
    z[j] *= -1;
  }
  const bool ok = upper.allFinite() && z.allFinite();
  return {upper.transpose(), z, ok};
}

double State::log_likelihood_of(const Factor& scaled, double phi) const {
  if (!scaled.ok) return -std::numeric_limits<double>::infinity();
  return 0.5 * data_->n() * (std::log(phi) - kLogTwoPi) + log_weights_ -
         0.5 * (phi * squares_ - scaled.z.squaredNorm()) -
         scaled.lower.diagonal().array().log().sum();
}

// Covariance and mean from the factor.
bool State::take_factor(const Factor& scaled) {
  const int m = size();
  log_likelihood_ = log_likelihood_of(scaled, phi_);
  if (!scaled.ok) return false;
  const Eigen::VectorXd s = deviations();
  const auto lower = scaled.lower.triangularView<Eigen::Lower>();
  Eigen::MatrixXd half = s.asDiagonal();  // L^-1 diag(s)
  lower.solveInPlace(half);
  square_into(half.transpose(), covariance_.topLeftCorner(m, m));
  mean_.head(m).noalias() = half.transpose() * scaled.z;
  return true;
}

bool State::refresh() {
  for (int j = 0; j < size(); ++j) {
    fill_exponents(slots_[j].location, exponents_.col(j));
  }
  fill_values(exponents_.leftCols(size()), values_.leftCols(size()));
  sum_up(values_, gram_, product_);
  return refactor();
}

bool State::refactor() {
  return take_factor(
      scaled_factor(values_, gram_, product_, phi_, deviations()));
}

State::Factor State::factor() const {
  Factor out = scaled_factor(values_, gram_, product_, phi_, deviations());
  if (size() > 0) {
    out.lower = deviations().cwiseInverse().asDiagonal() * out.lower;
  }
  return out;
}

State::Factor State::prior_factor() const {
  Factor out;
  out.lower = deviations().cwiseInverse().asDiagonal();
  out.z = Eigen::VectorXd::Zero(size());
  return out;
}

double State::propose_scales(const ScaleChange& change) {
  const int m = size();
  next_.scales = true;
  next_.phi = phi_;
  next_.log_lambda = log_lambda_;
  next_.included = included_;
  next_.exponents.resize(exponents_.rows(), exponents_.cols());
  next_.values.resize(values_.rows(), values_.cols());
  next_.gram.resize(gram_.rows(), gram_.cols());
  next_.product.resize(product_.size());
  next_.exponents.leftCols(m) =
      std::exp(change.shift) * exponents_.leftCols(m);
  for (double& scale : next_.log_lambda) scale += change.shift;
  for (const auto& one : change.ones) {
    const int l = one.predictor;
    const double before =
        next_.included[l] ? std::exp(next_.log_lambda[l]) : 0;
    const double after = one.included ? std::exp(one.log_lambda) : 0;
    add_exponents(next_.exponents, l, after - before);
    next_.log_lambda[l] = one.log_lambda;
    next_.included[l] = one.included;
  }
  fill_values(next_.exponents.leftCols(m), next_.values.leftCols(m));
  sum_up(next_.values, next_.gram, next_.product);
  next_.factor = scaled_factor(next_.values, next_.gram, next_.product, phi_,
                               deviations());
  return log_likelihood_of(next_.factor, phi_);
}

double State::propose_noise(double phi) {
  next_.scales = false;
  next_.phi = phi;
  next_.factor = scaled_factor(values_, gram_, product_, phi, deviations());
  return log_likelihood_of(next_.factor, phi);
}

void State::accept_proposal() {
  phi_ = next_.phi;
  if (next_.scales) {
    include(next_.log_lambda, next_.included);
    exponents_.swap(next_.exponents);
    values_.swap(next_.values);
    gram_.swap(next_.gram);
    product_.swap(next_.product);
  }
  take_factor(next_.factor);
}

void State::set_response(Eigen::VectorXd response) {
  response_ = std::move(response);
  if (root_weights_.size() > 0) response_.array() *= root_weights_.array();
  squares_ = response_.squaredNorm();
  product_.head(size()).noalias() = columns().transpose() * response_;
  refactor();
}

void State::set_amplitude(double amplitude) {
  amplitude_ = amplitude;
  for (int j = 0; j < size(); ++j) {
    variance_[j] = amplitude * slots_[j].variance(prior_->collapsed());
  }
  refactor();
}

void State::scale_varphi(double factor) {
  for (Slot& slot : slots_) {
    for (double& varphi : slot.varphi) varphi *= factor;
  }
  set_amplitude(amplitude_);
}

double State::log_likelihood_at(double amplitude) const {
  if (amplitude == amplitude_) return log_likelihood_;
  Eigen::VectorXd s(size());
  for (int j = 0; j < size(); ++j) {
    s[j] = std::sqrt(amplitude * slots_[j].variance(prior_->collapsed()));
  }
  return log_likelihood_of(scaled_factor(values_, gram_, product_, phi_, s),
                           phi_);
}

void State::include(std::vector<double> log_lambda,
                    std::vector<char> included) {
  log_lambda_ = std::move(log_lambda);
  included_ = std::move(included);
  n_included_ = 0;
  for (const char in : included_) n_included_ += in;
}

void State::place(std::vector<Slot> slots) {
  std::fill(at_.begin(), at_.end(), -1);
  slots_ = std::move(slots);
  variance_.clear();
  copies_ = 0;
  for (int j = 0; j < size(); ++j) {
    at_.at(slots_[j].location) = j;
    variance_.push_back(amplitude_ * slots_[j].variance(prior_->collapsed()));
    copies_ += slots_[j].copies;
  }
  reserve(size());
}

void State::assign(std::vector<Slot> slots, std::vector<double> log_lambda,
                   std::vector<char> included, double phi) {
  place(std::move(slots));
  phi_ = phi;
  include(std::move(log_lambda), std::move(included));
  refresh();
}

State::Saved State::save(bool updates) const {
  Saved out;
  out.slots = slots_;
  out.log_lambda = log_lambda_;
  out.included = included_;
  out.phi = phi_;
  out.log_likelihood = log_likelihood_;
  if (data_->probit()) out.latent = response_;
  if (!updates) return out;
  const int m = size();
  out.exponents = exponents_.leftCols(m);
  out.gram = gram_.topLeftCorner(m, m);
  out.covariance = covariance();
  out.product = product_.head(m);
  out.mean = mean();
  return out;
}

void State::restore(Saved saved) {
  if (data_->probit()) {
    response_ = std::move(saved.latent);
    squares_ = response_.squaredNorm();
  }
  assign(std::move(saved.slots), std::move(saved.log_lambda),
         std::move(saved.included), saved.phi);
  log_likelihood_ = saved.log_likelihood;
  const int m = size();
  if (m == 0 || saved.gram.size() == 0) return;
  exponents_.leftCols(m) = saved.exponents;
  fill_values(exponents_.leftCols(m), values_.leftCols(m));
  gram_.topLeftCorner(m, m) = saved.gram;
  covariance_.topLeftCorner(m, m) = saved.covariance;
  product_.head(m) = saved.product;
  mean_.head(m) = saved.mean;
}

Eigen::VectorXd State::draw_coefficients(const Factor& factor, Rng& rng) {
  Eigen::VectorXd out = factor.z;
  for (Eigen::Index j = 0; j < out.size(); ++j) out[j] += rng.normal();
  factor.lower.triangularView<Eigen::Lower>().transpose().solveInPlace(out);
  return out;
}

}  // namespace bark
}  // namespace kernelbayes
