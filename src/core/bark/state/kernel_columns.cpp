#include "kernel_columns.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "row_parts.hpp"

namespace kernelbayes::bark {

namespace {

double scale_of(const Shape& shape, int l) {
  return shape.included[l] ? std::exp(shape.log_lambda[l]) : 0;
}

bool same_scale(const Shape& one, const Shape& other, int l) {
  if (one.included[l] != other.included[l]) return false;
  return !one.included[l] || one.log_lambda[l] == other.log_lambda[l];
}

// Does a scale that goes, a thousand times those that stay, take the last right
// digits of the exponents with it?
bool cancels(double log_gone, const std::vector<double>& log_lambda,
             const std::vector<char>& included) {
  constexpr double kMost = 7;
  double left = -std::numeric_limits<double>::infinity();
  for (std::size_t l = 0; l < included.size(); ++l) {
    if (included[l]) left = std::max(left, log_lambda[l]);
  }
  return log_gone > left + kMost;
}

// So few scales that it saves time to change their parts of the exponents.
bool few_change(const Place& from, const Place& to) {
  constexpr int kFew = 2;
  if (from.location == 0 || from.location != to.location) return false;
  if (!from.shape || !to.shape || to.shape->included.empty()) return false;
  const Shape &old = *from.shape, &now = *to.shape;
  if (old.centre != now.centre) return false;
  int changed = 0;
  for (int l = 0; l < static_cast<int>(now.included.size()); ++l) {
    if (same_scale(old, now, l)) continue;
    if (++changed > kFew) return false;
    if (old.included[l] &&
        cancels(old.log_lambda[l], now.log_lambda, now.included)) {
      return false;
    }
  }
  return true;
}

}  // namespace

KernelColumns::KernelColumns(const Data& data, const Prior& prior)
    : data_(&data), prior_(&prior) {
  const int inputs = prior.n_inputs(data.p());
  include(std::vector<double>(inputs, 0.0), std::vector<char>(inputs, 1));
  if (prior.directions > 0) {
    set_directions(Eigen::MatrixXd::Identity(data.p(), prior.directions));
  }
}

double KernelColumns::total_scale() const {
  double sum = 0;
  for (std::size_t l = 0; l < included_.size(); ++l) {
    if (included_[l]) sum += std::exp(log_lambda_[l]);
  }
  return sum;
}

void KernelColumns::include(std::vector<double> log_lambda,
                            std::vector<char> included) {
  log_lambda_ = std::move(log_lambda);
  included_ = std::move(included);
  n_included_ = 0;
  for (const char in : included_) n_included_ += in;
}

// Directions ------------------------------------------------------------------

// One predictor after another: the bits do not depend on the position of the
// column, and along an axis they are those of x.
Eigen::VectorXd KernelColumns::project(const Eigen::VectorXd& direction) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(data_->n());
  for (int i = 0; i < data_->p(); ++i) out += direction[i] * data_->x.col(i);
  return out;
}

void KernelColumns::set_directions(const Eigen::MatrixXd& directions) {
  if (directions.rows() != data_->p() ||
      directions.cols() != prior_->directions) {
    throw std::invalid_argument("directions have the wrong size");
  }
  directions_ = directions;
  projected_.resize(data_->n(), directions.cols());
  for (int l = 0; l < directions.cols(); ++l) {
    projected_.col(l) = project(directions.col(l));
  }
}

void KernelColumns::set_direction(int l, const Eigen::VectorXd& direction) {
  directions_.col(l) = direction;
  projected_.col(l) = project(direction);
}

// Columns ---------------------------------------------------------------------

void KernelColumns::reserve(int columns) {
  if (columns > exponents_.cols()) {
    exponents_.conservativeResize(data_->n(), columns);
  }
  if (columns > values_.cols()) {
    values_.conservativeResize(data_->n(), columns);
  }
}

double KernelColumns::centre_of(const Place& place, int l) const {
  if (place.shape && !place.shape->centre.empty()) {
    return place.shape->centre[l];
  }
  return inputs()(place.location - 1, l);
}

// (B7): sum_l lambda_l (x_il - c_l)^2, x the input of the kernels; 0 for the
// intercept. `input` gives that of the rows.
template <class Input>
void KernelColumns::fill_from(const Input& input, const Place& place,
                              const std::vector<double>& log_lambda,
                              const std::vector<char>& included,
                              Eigen::Ref<Eigen::VectorXd> out) const {
  out.setZero();
  if (place.location == 0) return;
  for (int l = 0; l < static_cast<int>(included.size()); ++l) {
    if (!included[l]) continue;
    data_->arithmetic->add_squares(std::exp(log_lambda[l]), input(l),
                                   centre_of(place, l), out);
  }
}

template <class Input>
void KernelColumns::fill_from(const Input& input, const Place& place,
                              Eigen::Ref<Eigen::VectorXd> out) const {
  if (place.shape && !place.shape->included.empty()) {
    const Shape& own = *place.shape;
    return fill_from(input, place, own.log_lambda, own.included, out);
  }
  fill_from(input, place, log_lambda_, included_, out);
}

void KernelColumns::fill_exponents(const Place& place,
                                   Eigen::Ref<Eigen::VectorXd> out,
                                   Eigen::Index first) const {
  const auto input = [&](int l) {
    return inputs().col(l).segment(first, out.size());
  };
  fill_from(input, place, out);
}

Eigen::VectorXd KernelColumns::strided_exponents(const Place& place,
                                                 Eigen::Index first,
                                                 Eigen::Index stride) const {
  Eigen::VectorXd out((data_->n() - first + stride - 1) / stride);
  const auto input = [&](int l) {
    Eigen::VectorXd some(out.size());
    for (Eigen::Index i = 0; i < some.size(); ++i) {
      some[i] = inputs()(first + i * stride, l);
    }
    return some;
  };
  fill_from(input, place, out);
  return out;
}

void KernelColumns::fill_values(Eigen::Ref<const Eigen::MatrixXd> exponents,
                                Matrix out, const Response& response) const {
  data_->arithmetic->exp_minus(exponents, out);
  response.weigh(out);
}

void KernelColumns::fill(const Place& place, const Response& response,
                         Eigen::Ref<Eigen::VectorXd> exponents,
                         Eigen::Ref<Eigen::VectorXd> values) const {
  fill_exponents(place, exponents);
  fill_values(exponents, values, response);
}

void KernelColumns::fill_changed(int j, const Place& from, const Place& to,
                                 const Response& response,
                                 Eigen::Ref<Eigen::VectorXd> exponents,
                                 Eigen::Ref<Eigen::VectorXd> values) const {
  if (!few_change(from, to)) return fill(to, response, exponents, values);
  exponents = exponents_.col(j);
  for (int l = 0; l < static_cast<int>(to.shape->included.size()); ++l) {
    if (same_scale(*from.shape, *to.shape, l)) continue;
    data_->arithmetic->add_squares(
        scale_of(*to.shape, l) - scale_of(*from.shape, l), inputs().col(l),
        centre_of(to, l), exponents);
  }
  fill_values(exponents, values, response);
}

void KernelColumns::fill_rows(const Place& place, const Response& response,
                              Eigen::Index first,
                              Eigen::Ref<Eigen::VectorXd> exponents,
                              Eigen::Ref<Eigen::VectorXd> values) const {
  fill_exponents(place, exponents, first);
  data_->arithmetic->exp_minus(exponents, values);
  response.weigh_rows(values, first);
}

void KernelColumns::take_back(Eigen::MatrixXd values) {
  values_ = std::move(values);
  reserve(static_cast<int>(values_.cols()));
}

void KernelColumns::put(int j, const Eigen::VectorXd& exponents,
                        const Eigen::VectorXd& values) {
  exponents_.col(j) = exponents;
  values_.col(j) = values;
}

void KernelColumns::move(int from, int to) {
  exponents_.col(to) = exponents_.col(from);
  values_.col(to) = values_.col(from);
}

void KernelColumns::compute(const std::vector<Place>& places,
                            const Response& response) {
  if (response.terms().any()) {
    for (std::size_t j = 0; j < places.size(); ++j) {
      fill_exponents(places[j], exponents_.col(j));
    }
    return compute_values(static_cast<int>(places.size()), response);
  }
  const RowParts parts(data_->n(), kPart);
  data_->executor(parts.count(), [&](std::size_t begin, std::size_t end) {
    for (; begin < end; ++begin) {
      const Eigen::Index first = parts.first(begin), rows = parts.rows(begin);
      for (std::size_t j = 0; j < places.size(); ++j) {
        fill_rows(places[j], response, first,
                  exponents_.col(j).segment(first, rows),
                  values_.col(j).segment(first, rows));
      }
    }
  });
}

void KernelColumns::compute_values(int columns, const Response& response) {
  fill_values(exponents_.leftCols(columns), values_.leftCols(columns),
              response);
}

void KernelColumns::restore(const Eigen::MatrixXd& exponents,
                            const Response& response) {
  const int columns = static_cast<int>(exponents.cols());
  exponents_.leftCols(columns) = exponents;
  compute_values(columns, response);
}

// Proposals -------------------------------------------------------------------

// They start from the current values.
void KernelColumns::begin_proposal() {
  next_.direction = -1;
  next_.log_lambda = log_lambda_;
  next_.included = included_;
  next_.exponents.resize(exponents_.rows(), exponents_.cols());
  next_.values.resize(values_.rows(), values_.cols());
}

// Adds the part of one predictor to all columns.
void KernelColumns::add_exponents(const std::vector<Place>& places, int l,
                                  double scale) {
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (places[j].location == 0) continue;
    data_->arithmetic->add_squares(scale, inputs().col(l),
                                   centre_of(places[j], l),
                                   next_.exponents.col(j));
  }
}

// The same for an input that is not in the state; centres are rows.
void KernelColumns::add_exponents(const std::vector<Place>& places,
                                  const Eigen::VectorXd& input, double scale) {
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (places[j].location == 0) continue;
    data_->arithmetic->add_squares(scale, input, input[places[j].location - 1],
                                   next_.exponents.col(j));
  }
}

void KernelColumns::propose_scales(const ScaleChange& change,
                                   const std::vector<Place>& places,
                                   const Response& response) {
  const Eigen::Index m = places.size();
  begin_proposal();
  for (double& scale : next_.log_lambda) scale += change.shift;
  const std::vector<double> shifted = next_.log_lambda;
  for (const auto& one : change.ones) {
    next_.log_lambda[one.predictor] = one.log_lambda;
    next_.included[one.predictor] = one.included;
  }
  bool exact = true;
  next_.exponents.leftCols(m) = std::exp(change.shift) * exponents_.leftCols(m);
  for (const auto& one : change.ones) {
    const int l = one.predictor;
    const double before = included_[l] ? std::exp(shifted[l]) : 0;
    const double after = one.included ? std::exp(one.log_lambda) : 0;
    add_exponents(places, l, after - before);
    exact = exact && !(included_[l] &&
                       cancels(shifted[l], next_.log_lambda, next_.included));
  }
  if (!exact) fill_proposed(places);
  fill_values(next_.exponents.leftCols(m), next_.values.leftCols(m), response);
}

// All exponents anew.
void KernelColumns::fill_proposed(const std::vector<Place>& places) {
  const auto input = [&](int l) { return inputs().col(l); };
  for (std::size_t j = 0; j < places.size(); ++j) {
    fill_from(input, places[j], next_.log_lambda, next_.included,
              next_.exponents.col(j));
  }
}

void KernelColumns::propose_direction(int l, Eigen::VectorXd direction,
                                      const std::vector<Place>& places,
                                      const Response& response) {
  const Eigen::Index m = places.size();
  begin_proposal();
  next_.direction = l;
  next_.input = project(direction);
  next_.along = std::move(direction);
  next_.exponents.leftCols(m) = exponents_.leftCols(m);
  if (included_[l]) {
    const double lambda = std::exp(log_lambda_[l]);
    add_exponents(places, l, -lambda);
    add_exponents(places, next_.input, lambda);
  }
  fill_values(next_.exponents.leftCols(m), next_.values.leftCols(m), response);
}

void KernelColumns::propose_places(const std::vector<Place>& places,
                                   const std::vector<char>& changed,
                                   const Response& response) {
  begin_proposal();
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (changed[j]) {
      fill(places[j], response, next_.exponents.col(j), next_.values.col(j));
    } else {
      next_.exponents.col(j) = exponents_.col(j);
      next_.values.col(j) = values_.col(j);
    }
  }
}

void KernelColumns::accept_proposal() {
  if (next_.direction >= 0) {
    directions_.col(next_.direction) = next_.along;
    projected_.col(next_.direction) = next_.input;
  }
  include(next_.log_lambda, next_.included);
  exponents_.swap(next_.exponents);
  values_.swap(next_.values);
}

}  // namespace kernelbayes::bark
