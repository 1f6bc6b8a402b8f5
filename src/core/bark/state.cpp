#include "state.hpp"

#include <limits>
#include <stdexcept>

namespace kernelbayes {
namespace bark {

namespace {

void check_classes(const Data& data) {
  const auto y = data.y.array();
  if (data.family == Family::kProbit && (y.abs() != 1).any()) {
    throw std::invalid_argument("a probit model wants y of -1 and 1");
  }
  if (!data.ordered()) return;
  const bool whole = (y == y.round()).all();
  if (data.classes < 2 || !whole || (y < 1).any() || (y > data.classes).any()) {
    throw std::invalid_argument("ordered classes are numbers from 1");
  }
}

}  // namespace

State::State(const Data& data, const Prior& prior)
    : data_(&data),
      prior_(&prior),
      response_(data.latent() ? Eigen::VectorXd::Zero(data.n()) : data.y),
      log_weights_(0.5 * data.weights.array().log().sum()),
      at_(data.n() + 1, -1),
      log_lambda_(prior.n_inputs(data.p()), 0.0),
      included_(log_lambda_.size(), 1),
      n_included_(static_cast<int>(log_lambda_.size())) {
  if (data.y.size() != data.x.rows() || data.weights.size() != data.x.rows()) {
    throw std::invalid_argument("x, y and weights differ in length");
  }
  const bool weighted = (data.weights.array() != 1).any();
  if (data.latent() && weighted) {
    throw std::invalid_argument("classes want weights 1");
  }
  check_classes(data);
  if (data.latent()) {
    set_log_gaps(std::vector<double>(data.ordered() ? data.classes - 2 : 0));
  } else if (data.student()) {
    weigh(Eigen::VectorXd::Ones(data.n()));
  } else if (weighted) {
    root_weights_ = data.weights.cwiseSqrt();
    response_.array() *= root_weights_.array();
  }
  squares_ = response_.squaredNorm();
  if (prior.directions > 0) {
    set_directions(Eigen::MatrixXd::Identity(data.p(), prior.directions));
  }
  reserve(8);
  refresh();
}

double State::total_scale() const {
  double sum = 0;
  for (std::size_t l = 0; l < included_.size(); ++l) {
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

// (B7): sum_l lambda_l (x_il - c_l)^2 for all rows i, x what kernels see; the
// intercept's are 0.
void State::fill_exponents(int location, const Shape* shape,
                           Eigen::Ref<Eigen::VectorXd> out) const {
  out.setZero();
  if (location == 0) return;
  const bool own = shape && !shape->included.empty();
  const auto& included = own ? shape->included : included_;
  const auto& log_lambda = own ? shape->log_lambda : log_lambda_;
  for (int l = 0; l < static_cast<int>(included.size()); ++l) {
    if (!included[l]) continue;
    const double lambda = std::exp(log_lambda[l]);
    const auto column = inputs().col(l).array();
    out.array() += lambda * (column - centre_of(location, shape, l)).square();
  }
}

double State::centre_of(int location, const Shape* shape, int l) const {
  if (shape && !shape->centre.empty()) return shape->centre[l];
  return inputs()(location - 1, l);
}

// The same for all slots, one predictor, added.
void State::add_exponents(Eigen::MatrixXd& exponents, int l,
                          double scale) const {
  const auto column = inputs().col(l).array();
  for (int j = 0; j < size(); ++j) {
    const int location = slots_[j].location;
    if (location == 0) continue;
    const double centre = centre_of(location, slots_[j].shape.get(), l);
    exponents.col(j).array() += scale * (column - centre).square();
  }
}

// The same, of an input that is none of the state's; centres are rows.
void State::add_exponents(Eigen::MatrixXd& exponents,
                          const Eigen::VectorXd& input, double scale) const {
  for (int j = 0; j < size(); ++j) {
    const int location = slots_[j].location;
    if (location == 0) continue;
    const double centre = input[location - 1];
    exponents.col(j).array() += scale * (input.array() - centre).square();
  }
}

// One predictor after the other: the bits do not depend on the position of the
// column, and those of x along an axis are its own.
Eigen::VectorXd State::project(const Eigen::VectorXd& direction) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(data_->n());
  for (int i = 0; i < data_->p(); ++i) out += direction[i] * data_->x.col(i);
  return out;
}

void State::set_directions(const Eigen::MatrixXd& directions) {
  if (directions.rows() != data_->p() ||
      directions.cols() != prior_->directions) {
    throw std::invalid_argument("directions are of another size");
  }
  directions_ = directions;
  projected_.resize(data_->n(), directions.cols());
  for (int l = 0; l < directions.cols(); ++l) {
    projected_.col(l) = project(directions.col(l));
  }
}

void State::set_idle_direction(int l, const Eigen::VectorXd& direction) {
  directions_.col(l) = direction;
  projected_.col(l) = project(direction);
}

// One number at a time: the C library's exponential is at least as fast as
// vectors without wide registers, and its bits do not depend on the position.
void State::fill_values(Eigen::Ref<const Eigen::MatrixXd> exponents,
                        Eigen::Ref<Eigen::MatrixXd> out) const {
  out = exponents.unaryExpr([](double e) { return std::exp(-e); });
  if (root_weights_.size() == 0) return;
  out.array().colwise() *= root_weights_.array();
}

void State::fill_columns(const std::vector<Place>& places,
                         Eigen::MatrixXd& exponents,
                         Eigen::MatrixXd& values) const {
  exponents.resize(data_->n(), places.size());
  values.resize(data_->n(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& at = places[i];
    fill_exponents(at.location, at.shape.get(), exponents.col(i));
  }
  fill_values(exponents, values);
}

Column State::make_column(const Place& place) const {
  Column out;
  out.place = place;
  out.exponents.resize(data_->n());
  out.values.resize(data_->n());
  fill_exponents(place.location, place.shape.get(), out.exponents);
  fill_values(out.exponents, out.values);
  out.gram.noalias() = columns().transpose() * out.values;
  out.own = out.values.squaredNorm();
  out.response = out.values.dot(response_);
  return out;
}

// A proposal of other columns starts from what there is.
void State::begin_columns() {
  next_.columns = true;
  next_.direction = -1;
  next_.phi = phi_;
  next_.log_lambda = log_lambda_;
  next_.included = included_;
  next_.exponents.resize(exponents_.rows(), exponents_.cols());
  next_.values.resize(values_.rows(), values_.cols());
  next_.gram.resize(gram_.rows(), gram_.cols());
  next_.product.resize(product_.size());
}

double State::finish_columns() {
  const int m = size();
  fill_values(next_.exponents.leftCols(m), next_.values.leftCols(m));
  sum_up(next_.values, next_.gram, next_.product);
  next_.factor = scaled_factor(next_.values, next_.gram, next_.product, phi_,
                               deviations());
  return log_likelihood_of(next_.factor, phi_);
}

double State::propose_scales(const ScaleChange& change) {
  const int m = size();
  begin_columns();
  next_.exponents.leftCols(m) = std::exp(change.shift) * exponents_.leftCols(m);
  for (double& scale : next_.log_lambda) scale += change.shift;
  for (const auto& one : change.ones) {
    const int l = one.predictor;
    const double before = next_.included[l] ? std::exp(next_.log_lambda[l]) : 0;
    const double after = one.included ? std::exp(one.log_lambda) : 0;
    add_exponents(next_.exponents, l, after - before);
    next_.log_lambda[l] = one.log_lambda;
    next_.included[l] = one.included;
  }
  return finish_columns();
}

double State::propose_direction(int l, Eigen::VectorXd direction) {
  begin_columns();
  next_.direction = l;
  next_.input = project(direction);
  next_.along = std::move(direction);
  next_.exponents.leftCols(size()) = exponents_.leftCols(size());
  if (included_[l]) {
    const double lambda = std::exp(log_lambda_[l]);
    add_exponents(next_.exponents, l, -lambda);
    add_exponents(next_.exponents, next_.input, lambda);
  }
  return finish_columns();
}

double State::propose_noise(double phi) {
  next_.columns = false;
  next_.phi = phi;
  next_.factor = scaled_factor(values_, gram_, product_, phi, deviations());
  return log_likelihood_of(next_.factor, phi);
}

void State::accept_proposal() {
  phi_ = next_.phi;
  if (next_.columns) {
    if (next_.direction >= 0) {
      directions_.col(next_.direction) = next_.along;
      projected_.col(next_.direction) = next_.input;
    }
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

void State::weigh(Eigen::VectorXd row_weights) {
  row_weights_ = std::move(row_weights);
  root_weights_ = data_->weights.cwiseProduct(row_weights_).cwiseSqrt();
  log_weights_ = root_weights_.array().log().sum();
  response_ = data_->y.cwiseProduct(root_weights_);
  squares_ = response_.squaredNorm();
}

void State::set_row_weights(Eigen::VectorXd weights) {
  weigh(std::move(weights));
  fill_values(exponents_.leftCols(size()), values_.leftCols(size()));
  sum_up(values_, gram_, product_);
  refactor();
}

void State::set_log_gaps(std::vector<double> log_gaps) {
  log_gaps_ = std::move(log_gaps);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  cuts_ = {-kInfinity, 0};
  for (const double gap : log_gaps_) {
    cuts_.push_back(cuts_.back() + std::exp(gap));
  }
  cuts_.push_back(kInfinity);
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

void State::set_at(int location, int slot) {
  if (!prior_->shaped()) at_.at(location) = slot;
}

void State::place(std::vector<Slot> slots) {
  std::fill(at_.begin(), at_.end(), -1);
  slots_ = std::move(slots);
  variance_.clear();
  copies_ = 0;
  for (int j = 0; j < size(); ++j) {
    set_at(slots_[j].location, j);
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

}  // namespace bark
}  // namespace kernelbayes
