#include "state.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <limits>
#include <stdexcept>

namespace kernelbayes {
namespace bark {

namespace {

constexpr double kLogTwoPi = 1.8378770664093454836;

// Columns start at aligned addresses: vectorised exponentials then have the
// same bits wherever a column lies.
Eigen::Index padded(Eigen::Index n) { return (n + 7) / 8 * 8; }

}  // namespace

State::State(const Data& data, const Prior& prior)
    : data_(&data),
      prior_(&prior),
      at_(data.n() + 1, -1),
      log_lambda_(data.p(), 0.0),
      included_(data.p(), 1),
      n_included_(data.p()),
      response_(data.probit() ? Eigen::VectorXd::Zero(data.n()) : data.y),
      squares_(response_.cwiseAbs2().dot(data.weights)),
      log_weights_(0.5 * data.weights.array().log().sum()) {
  if (data.y.size() != data.x.rows() || data.weights.size() != data.x.rows()) {
    throw std::invalid_argument("x, y and weights differ in length");
  }
  if (data.probit() && ((data.y.array().abs() != 1).any() ||
                        (data.weights.array() != 1).any())) {
    throw std::invalid_argument(
        "a probit model wants y of -1 and 1, weights 1");
  }
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
  values_.conservativeResize(padded(data_->n()), wanted);
  gram_.conservativeResize(wanted, wanted);
  covariance_.conservativeResize(wanted, wanted);
  product_.conservativeResize(wanted);
  mean_.conservativeResize(wanted);
}

// exp(-sum_l lambda_l (x_il - c_l)^2) for all rows i; the intercept's are 1.
void State::fill_column(int location,
                        Eigen::Ref<Eigen::VectorXd> out) const {
  if (location == 0) {
    out.setOnes();
    return;
  }
  out.setZero();
  for (int l = 0; l < data_->p(); ++l) {
    if (!included_[l]) continue;
    const double lambda = std::exp(log_lambda_[l]);
    const auto column = data_->x.col(l).array();
    out.array() += lambda * (column - data_->x(location - 1, l)).square();
  }
  out = (-out.array()).exp();
}

Column State::make_column(int location) const {
  Column out;
  out.location = location;
  out.values.resize(data_->n());
  fill_column(location, out.values);
  const Eigen::VectorXd weighted = out.values.cwiseProduct(data_->weights);
  out.gram = columns().transpose() * weighted;
  out.own = weighted.dot(out.values);
  out.response = weighted.dot(response_);
  return out;
}

// From Sig_jj and mu_j. With a and h what the data say of beta_j given the
// other slots, log L is ell(v) = (h^2 v / (1 + a v) - log(1 + a v)) / 2.
Change State::change_of(int j, double own, double mean, double variance,
                        double before) const {
  const double v = variance_[j];
  const double a = 1 / own - 1 / v, h = mean / own;
  const auto ell = [a, h](double v) {
    return 0.5 * (h * h * v / (1 + a * v) - std::log1p(a * v));
  };
  // e / (1 + e own) with e = 1 / v' - 1 / v, which tends to 1 / own.
  const double kappa = (v - variance) / (v * variance + (v - variance) * own);
  return {j, variance, kappa, before + ell(variance) - ell(v)};
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

double State::score_add(const Column& column, double variance) const {
  variance *= amplitude_;
  const Eigen::VectorXd u = covariance() * column.gram;
  const double left = column.own - phi_ * column.gram.dot(u);
  const double rho = 1 + variance * phi_ * std::max(left, 0.0);
  const double residual = column.response - column.gram.dot(mean());
  const double t = phi_ * residual;
  return 0.5 * (variance * t * t / rho - std::log(rho));
}

double State::score_add(const Column& column, double variance,
                        const Change& before) const {
  variance *= amplitude_;
  const int j = before.slot;
  const Eigen::VectorXd cross = covariance_.col(j).head(size());
  Eigen::VectorXd u = covariance() * column.gram;
  u -= before.kappa * u[j] * cross;
  const double left = column.own - phi_ * column.gram.dot(u);
  const double rho = 1 + variance * phi_ * std::max(left, 0.0);
  const double explained = column.gram.dot(mean()) -
                           before.kappa * mean_[j] * column.gram.dot(cross);
  const double t = phi_ * (column.response - explained);
  return before.log_ratio + 0.5 * (variance * t * t / rho - std::log(rho));
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
  variance_[change.slot] = change.variance;
  relabel(change.slot, std::move(slot));
}

void State::relabel(int j, Slot slot) {
  copies_ += slot.copies - slots_[j].copies;
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
  values_.col(m).head(data_->n()) = column.values;
  gram_.col(m).head(m) = column.gram;
  gram_.row(m).head(m) = column.gram.transpose();
  gram_(m, m) = column.own;
  product_[m] = column.response;
  copies_ += slot.copies;
  at_[slot.location] = m;
  variance_.push_back(variance);
  slots_.push_back(std::move(slot));
}

void State::rebuild_columns() {
  const int n = data_->n();
  for (int j = 0; j < size(); ++j) {
    fill_column(slots_[j].location, values_.col(j).head(n));
  }
}

void State::rebuild_sums() {
  const int m = size();
  const Eigen::MatrixXd weighted = data_->weights.asDiagonal() * columns();
  gram_.topLeftCorner(m, m).noalias() = weighted.transpose() * columns();
  product_.head(m).noalias() = weighted.transpose() * response_;
}

Eigen::VectorXd State::deviations() const {
  Eigen::VectorXd s(size());
  for (int j = 0; j < size(); ++j) s[j] = std::sqrt(variance_[j]);
  return s;
}

// The factor of M = I + phi s s' * G, and z = L^-1 phi s * K'Wy.
State::Factor State::scaled_factor(const Eigen::VectorXd& s) const {
  const int m = size();
  Eigen::MatrixXd matrix =
      phi_ * (s * s.transpose()).cwiseProduct(gram_.topLeftCorner(m, m));
  matrix.diagonal().array() += 1;
  const Eigen::VectorXd diagonal = matrix.diagonal();
  const Eigen::LLT<Eigen::MatrixXd> llt(matrix);
  constexpr double kSmallestPivot = 1e-9;
  const auto pivots = llt.matrixLLT().diagonal().array();
  if (llt.info() != Eigen::Success || !matrix.allFinite() ||
      (pivots.square() / diagonal.array()).minCoeff() < kSmallestPivot) {
    return scaled_factor_by_qr(s);
  }
  const Eigen::VectorXd r = phi_ * s.cwiseProduct(product_.head(m));
  return {llt.matrixL(), llt.matrixL().solve(r), true};
}

// The same from an orthogonal factor of [sqrt(phi) W^(1/2) K s; I]: nearly
// collinear columns with huge variances lose all digits in the Gram form.
State::Factor State::scaled_factor_by_qr(const Eigen::VectorXd& s) const {
  const int m = size(), n = data_->n();
  const Eigen::VectorXd root = (phi_ * data_->weights.array()).sqrt();
  Eigen::MatrixXd stacked(n + m, m);
  stacked.topRows(n) = root.asDiagonal() * columns() * s.asDiagonal();
  stacked.bottomRows(m).setIdentity();
  Eigen::VectorXd target = Eigen::VectorXd::Zero(n + m);
  target.head(n) = root.cwiseProduct(response_);
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

double State::log_likelihood_without_slots() const {
  return 0.5 * data_->n() * (std::log(phi_) - kLogTwoPi) + log_weights_ -
         0.5 * phi_ * squares_;
}

bool State::refresh() {
  const int m = size();
  log_likelihood_ = log_likelihood_without_slots();
  if (m == 0) return true;
  const Eigen::VectorXd s = deviations();
  const Factor scaled = scaled_factor(s);
  if (!scaled.ok) {
    log_likelihood_ = -std::numeric_limits<double>::infinity();
    return false;
  }
  log_likelihood_ += 0.5 * scaled.z.squaredNorm() -
                     scaled.lower.diagonal().array().log().sum();
  const auto lower = scaled.lower.triangularView<Eigen::Lower>();
  const Eigen::MatrixXd half = lower.solve(Eigen::MatrixXd::Identity(m, m));
  covariance_.topLeftCorner(m, m) =
      (s * s.transpose()).cwiseProduct(half.transpose() * half);
  mean_.head(m) = s.cwiseProduct(half.transpose() * scaled.z);
  return true;
}

double State::log_likelihood_at(double amplitude) const {
  if (amplitude == amplitude_) return log_likelihood_;
  if (size() == 0) return log_likelihood_without_slots();
  Eigen::VectorXd s(size());
  for (int j = 0; j < size(); ++j) {
    s[j] = std::sqrt(amplitude * slots_[j].variance(prior_->collapsed()));
  }
  const Factor scaled = scaled_factor(s);
  if (!scaled.ok) return -std::numeric_limits<double>::infinity();
  return log_likelihood_without_slots() + 0.5 * scaled.z.squaredNorm() -
         scaled.lower.diagonal().array().log().sum();
}

State::Factor State::factor() const {
  if (size() == 0) return {};
  const Eigen::VectorXd s = deviations();
  Factor out = scaled_factor(s);
  out.lower = s.cwiseInverse().asDiagonal() * out.lower;
  return out;
}

State::Factor State::prior_factor() const {
  Factor out;
  out.lower = deviations().cwiseInverse().asDiagonal();
  out.z = Eigen::VectorXd::Zero(size());
  return out;
}

void State::keep() {
  kept_.phi = phi_;
  kept_.log_likelihood = log_likelihood_;
  kept_.covariance = covariance();
  kept_.mean = mean();
  kept_.columns = false;
}

void State::set_scales(std::vector<double> log_lambda,
                       std::vector<char> included) {
  keep();
  const int m = size();
  kept_.columns = true;
  kept_.values = columns();
  kept_.gram = gram_.topLeftCorner(m, m);
  kept_.product = product_.head(m);
  kept_.log_lambda = std::move(log_lambda_);
  kept_.included = std::move(included_);
  include(std::move(log_lambda), std::move(included));
  rebuild_columns();
  rebuild_sums();
  refresh();
}

void State::set_noise(double phi) {
  keep();
  phi_ = phi;
  refresh();
}

void State::undo() {
  const int m = size();
  phi_ = kept_.phi;
  log_likelihood_ = kept_.log_likelihood;
  covariance_.topLeftCorner(m, m) = kept_.covariance;
  mean_.head(m) = kept_.mean;
  if (!kept_.columns) return;
  values_.topLeftCorner(data_->n(), m) = kept_.values;
  gram_.topLeftCorner(m, m) = kept_.gram;
  product_.head(m) = kept_.product;
  include(std::move(kept_.log_lambda), std::move(kept_.included));
}

void State::set_response(Eigen::VectorXd response) {
  response_ = std::move(response);
  const Eigen::VectorXd weighted = data_->weights.cwiseProduct(response_);
  squares_ = response_.dot(weighted);
  product_.head(size()).noalias() = columns().transpose() * weighted;
  refresh();
}

void State::scale_varphi(double factor) {
  for (Slot& slot : slots_) {
    for (double& varphi : slot.varphi) varphi *= factor;
  }
  set_amplitude(amplitude_);
}

void State::set_amplitude(double amplitude) {
  amplitude_ = amplitude;
  for (int j = 0; j < size(); ++j) {
    variance_[j] = amplitude * slots_[j].variance(prior_->collapsed());
  }
  refresh();
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
  rebuild_columns();
  rebuild_sums();
  refresh();
}

State::Saved State::save() const {
  const int m = size();
  return {slots_, log_lambda_, included_, phi_, log_likelihood_,
          gram_.topLeftCorner(m, m), covariance(), product_.head(m), mean(),
          data_->probit() ? response_ : Eigen::VectorXd()};
}

void State::restore(Saved saved) {
  if (data_->probit()) {
    response_ = std::move(saved.latent);
    squares_ = response_.dot(data_->weights.cwiseProduct(response_));
  }
  place(std::move(saved.slots));
  include(std::move(saved.log_lambda), std::move(saved.included));
  phi_ = saved.phi;
  rebuild_columns();
  const int m = size();
  log_likelihood_ = saved.log_likelihood;
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
