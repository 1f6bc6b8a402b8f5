#include "truncated.hpp"

#include "core/archive.hpp"
#include "kernelbayes/constants.hpp"

namespace kernelbayes::bark {

TruncatedState::TruncatedState(const Data& data, const Prior& prior)
    : data_(&data), prior_(&prior), response_(data), columns_(data, prior) {
  reserve(8);
  recompute_residual();
}

std::vector<bark::Place> TruncatedState::places() const {
  std::vector<bark::Place> out;
  for (const Kernel& kernel : kernels_) {
    out.push_back({kernel.location, nullptr});
  }
  return out;
}

Eigen::VectorXd TruncatedState::coefficients() const {
  Eigen::VectorXd out(size());
  for (int j = 0; j < size(); ++j) out[j] = kernels_[j].beta;
  return out;
}

double TruncatedState::log_density(double squares) const {
  return 0.5 * data_->n() * (std::log(phi_) - kLogTwoPi) +
         response_.log_weights() - 0.5 * phi_ * squares;
}

double TruncatedState::log_likelihood() const { return log_density(squares_); }

void TruncatedState::reserve(int kernels) {
  const int capacity = columns_.capacity();
  if (kernels > capacity) columns_.reserve(std::max(kernels, 2 * capacity));
}

void TruncatedState::recompute_residual() {
  residual_ = response();
  residual_.noalias() -= columns() * (root_amplitude_ * coefficients());
  squares_ = residual_.squaredNorm();
}

void TruncatedState::refresh() {
  own_.resize(size());
  columns_.compute(places(), response_);
  for (int j = 0; j < size(); ++j) own_[j] = columns().col(j).squaredNorm();
  recompute_residual();
}

// Kernels ---------------------------------------------------------------------

TruncatedState::Place TruncatedState::make_place(int location) const {
  Place out;
  out.location = location;
  out.exponents.resize(data_->n());
  out.values.resize(data_->n());
  columns_.fill({location, nullptr}, response_, out.exponents, out.values);
  out.own = out.values.squaredNorm();
  return out;
}

Information TruncatedState::information(int j) const {
  const double a = root_amplitude_, own = a * own_[j];
  const double product = columns().col(j).dot(residual_);
  return {phi_ * a * own, phi_ * a * (product + own * kernels_[j].beta)};
}

void TruncatedState::set_coefficient(int j, double beta) {
  residual_ += root_amplitude_ * (kernels_[j].beta - beta) * columns().col(j);
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
  columns_.put(m, place.exponents, place.values);
  own_.push_back(place.own);
  kernels_.push_back({place.location, 0});
  set_coefficient(m, beta);
}

void TruncatedState::remove(int j) {
  set_coefficient(j, 0);
  const int last = size() - 1;
  if (j != last) {
    columns_.move(last, j);
    own_[j] = own_[last];
    kernels_[j] = kernels_[last];
  }
  own_.pop_back();
  kernels_.pop_back();
}

// Scales, response ------------------------------------------------------------

double TruncatedState::propose_scales(const ScaleChange& change) {
  columns_.propose_scales(change, places(), response_);
  return propose_coefficients(coefficients());
}

double TruncatedState::propose_coefficients(const Eigen::VectorXd& beta) {
  next_.beta = beta;
  next_.residual = response();
  next_.residual.noalias() -= proposed_columns() * (root_amplitude_ * beta);
  next_.squares = next_.residual.squaredNorm();
  return log_density(next_.squares);
}

void TruncatedState::accept_proposal() {
  columns_.accept_proposal();
  residual_.swap(next_.residual);
  squares_ = next_.squares;
  for (int j = 0; j < size(); ++j) {
    kernels_[j].beta = next_.beta[j];
    own_[j] = columns().col(j).squaredNorm();
  }
}

void TruncatedState::set_response(Eigen::VectorXd response) {
  response_.set(std::move(response));
  recompute_residual();
}

void TruncatedState::set_amplitude(double amplitude) {
  root_amplitude_ = std::sqrt(amplitude);
  recompute_residual();
}

void TruncatedState::assign(std::vector<Kernel> kernels,
                            std::vector<double> log_lambda,
                            std::vector<char> included, double phi) {
  kernels_ = std::move(kernels);
  phi_ = phi;
  columns_.include(std::move(log_lambda), std::move(included));
  reserve(size());
  refresh();
}

void TruncatedState::transfer(Archive& archive) {
  const int p = data_->p();
  auto kernels = kernels_;
  auto log_lambda = this->log_lambda();
  auto included = this->included();
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
  response_.transfer(archive);
  if (!archive.reading()) return;
  assign(std::move(kernels), std::move(log_lambda), std::move(included), phi);
}

}  // namespace kernelbayes::bark
