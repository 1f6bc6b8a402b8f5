#include "truncated.hpp"

#include <stdexcept>

#include "core/archive.hpp"

namespace kernelbayes {
namespace bark {

TruncatedState::TruncatedState(const Data& data, const Prior& prior)
    : data_(&data),
      prior_(&prior),
      log_weights_(0.5 * data.weights.array().log().sum()),
      log_lambda_(data.p(), 0.0),
      included_(data.p(), 1),
      n_included_(data.p()) {
  if (data.y.size() != data.x.rows() || data.weights.size() != data.x.rows()) {
    throw std::invalid_argument("x, y and weights differ in length");
  }
  const bool weighted = (data.weights.array() != 1).any();
  if (data.latent() && (weighted || (data.y.array().abs() != 1).any())) {
    throw std::invalid_argument(
        "a probit model wants y of -1 and 1, weights 1");
  }
  if (weighted) root_weights_ = data.weights.cwiseSqrt();
  reserve(8);
  set_response(data.latent() ? Eigen::VectorXd::Zero(data.n()) : data.y);
}

double TruncatedState::total_scale() const {
  double sum = 0;
  for (int l = 0; l < data_->p(); ++l) {
    if (included_[l]) sum += std::exp(log_lambda_[l]);
  }
  return sum;
}

Eigen::VectorXd TruncatedState::coefficients() const {
  Eigen::VectorXd out(size());
  for (int j = 0; j < size(); ++j) out[j] = kernels_[j].beta;
  return out;
}

double TruncatedState::log_density(double squares) const {
  constexpr double kLogTwoPi = 1.8378770664093454836;
  return 0.5 * data_->n() * (std::log(phi_) - kLogTwoPi) + log_weights_ -
         0.5 * phi_ * squares;
}

double TruncatedState::log_likelihood() const { return log_density(squares_); }

void TruncatedState::reserve(int kernels) {
  const int capacity = static_cast<int>(values_.cols());
  if (kernels <= capacity) return;
  const int wanted = std::max(kernels, 2 * capacity);
  exponents_.conservativeResize(data_->n(), wanted);
  values_.conservativeResize(data_->n(), wanted);
}

void TruncatedState::fill_exponents(int location,
                                    Eigen::Ref<Eigen::VectorXd> out) const {
  out.setZero();
  if (location == 0) return;
  for (int l = 0; l < data_->p(); ++l) {
    if (!included_[l]) continue;
    const auto column = data_->x.col(l).array();
    out.array() += std::exp(log_lambda_[l]) *
                   (column - data_->x(location - 1, l)).square();
  }
}

void TruncatedState::fill_values(Eigen::Ref<const Eigen::MatrixXd> exponents,
                                 Eigen::Ref<Eigen::MatrixXd> out) const {
  out = exponents.unaryExpr([](double e) { return std::exp(-e); });
  if (root_weights_.size() == 0) return;
  out.array().colwise() *= root_weights_.array();
}

void TruncatedState::recompute_residual() {
  residual_ = response_;
  residual_.noalias() -= columns() * (root_amplitude_ * coefficients());
  squares_ = residual_.squaredNorm();
}

void TruncatedState::refresh() {
  own_.resize(size());
  for (int j = 0; j < size(); ++j) {
    fill_exponents(kernels_[j].location, exponents_.col(j));
  }
  fill_values(exponents_.leftCols(size()), values_.leftCols(size()));
  for (int j = 0; j < size(); ++j) own_[j] = values_.col(j).squaredNorm();
  recompute_residual();
}

// Kernels ---------------------------------------------------------------------

TruncatedState::Place TruncatedState::make_place(int location) const {
  Place out;
  out.location = location;
  out.exponents.resize(data_->n());
  out.values.resize(data_->n());
  fill_exponents(location, out.exponents);
  fill_values(out.exponents, out.values);
  out.own = out.values.squaredNorm();
  return out;
}

Information TruncatedState::information(int j) const {
  const double a = root_amplitude_, own = a * own_[j];
  const double product = values_.col(j).dot(residual_);
  return {phi_ * a * own, phi_ * a * (product + own * kernels_[j].beta)};
}

void TruncatedState::set_coefficient(int j, double beta) {
  residual_ += root_amplitude_ * (kernels_[j].beta - beta) * values_.col(j);
  squares_ = residual_.squaredNorm();
  kernels_[j].beta = beta;
}

void TruncatedState::set_coefficients(const Eigen::VectorXd& beta) {
  for (int j = 0; j < size(); ++j) kernels_[j].beta = beta[j];
  recompute_residual();
}

void TruncatedState::add(const Place& place, double beta) {
  const int m = size();
  reserve(m + 1);
  exponents_.col(m) = place.exponents;
  values_.col(m) = place.values;
  own_.push_back(place.own);
  kernels_.push_back({place.location, 0});
  set_coefficient(m, beta);
}

void TruncatedState::remove(int j) {
  set_coefficient(j, 0);
  const int last = size() - 1;
  if (j != last) {
    exponents_.col(j) = exponents_.col(last);
    values_.col(j) = values_.col(last);
    own_[j] = own_[last];
    kernels_[j] = kernels_[last];
  }
  own_.pop_back();
  kernels_.pop_back();
}

// Scales, response ------------------------------------------------------------

double TruncatedState::propose_scales(const ScaleChange& change) {
  const int m = size();
  next_.log_lambda = log_lambda_;
  next_.included = included_;
  next_.exponents.resize(exponents_.rows(), exponents_.cols());
  next_.values.resize(values_.rows(), values_.cols());
  auto exponents = next_.exponents.leftCols(m);
  exponents = std::exp(change.shift) * exponents_.leftCols(m);
  for (double& scale : next_.log_lambda) scale += change.shift;
  for (const auto& one : change.ones) {
    const int l = one.predictor;
    const double before = next_.included[l] ? std::exp(next_.log_lambda[l]) : 0;
    const double after = one.included ? std::exp(one.log_lambda) : 0;
    const auto column = data_->x.col(l).array();
    for (int j = 0; j < m; ++j) {
      const int location = kernels_[j].location;
      if (location == 0) continue;
      exponents.col(j).array() +=
          (after - before) * (column - data_->x(location - 1, l)).square();
    }
    next_.log_lambda[l] = one.log_lambda;
    next_.included[l] = one.included;
  }
  fill_values(exponents, next_.values.leftCols(m));
  return propose_coefficients(coefficients());
}

double TruncatedState::propose_coefficients(const Eigen::VectorXd& beta) {
  next_.beta = beta;
  next_.residual = response_;
  next_.residual.noalias() -= proposed_columns() * (root_amplitude_ * beta);
  next_.squares = next_.residual.squaredNorm();
  return log_density(next_.squares);
}

void TruncatedState::accept_proposal() {
  include(next_.log_lambda, next_.included);
  exponents_.swap(next_.exponents);
  values_.swap(next_.values);
  residual_.swap(next_.residual);
  squares_ = next_.squares;
  for (int j = 0; j < size(); ++j) {
    kernels_[j].beta = next_.beta[j];
    own_[j] = values_.col(j).squaredNorm();
  }
}

void TruncatedState::set_response(Eigen::VectorXd response) {
  response_ = std::move(response);
  if (root_weights_.size() > 0) response_.array() *= root_weights_.array();
  recompute_residual();
}

void TruncatedState::set_amplitude(double amplitude) {
  root_amplitude_ = std::sqrt(amplitude);
  recompute_residual();
}

void TruncatedState::include(std::vector<double> log_lambda,
                             std::vector<char> included) {
  log_lambda_ = std::move(log_lambda);
  included_ = std::move(included);
  n_included_ = 0;
  for (const char in : included_) n_included_ += in;
}

void TruncatedState::assign(std::vector<Kernel> kernels,
                            std::vector<double> log_lambda,
                            std::vector<char> included, double phi) {
  kernels_ = std::move(kernels);
  phi_ = phi;
  include(std::move(log_lambda), std::move(included));
  reserve(size());
  refresh();
}

void TruncatedState::transfer(Archive& archive) {
  const int p = data_->p();
  auto kernels = kernels_;
  auto log_lambda = log_lambda_;
  auto included = included_;
  double phi = phi_;
  if (archive.reading()) kernels.resize(archive.size("location"));
  archive.each<int>(
      "location", kernels, [](Kernel& k) -> int& { return k.location; },
      Want::between(0, data_->n()));
  archive.each<double>("beta", kernels,
                       [](Kernel& k) -> double& { return k.beta; });
  archive("log_lambda", log_lambda, Want::of(p));
  archive("included", included, Want::of(p));
  archive("phi", phi, Want::positive());
  if (data_->latent()) archive("latent", response_, Want::of(data_->n()));
  if (!archive.reading()) return;
  assign(std::move(kernels), std::move(log_lambda), std::move(included), phi);
}

}  // namespace bark
}  // namespace kernelbayes
