#include "state.hpp"

namespace kernelbayes::bark {

State::State(const Data& data, const Prior& prior)
    : data_(&data),
      prior_(&prior),
      response_(data),
      columns_(data, prior),
      at_(data.n() + 1, -1) {
  if (!prior.df.empty()) set_df(prior.df.front());
  reserve(8);
  refresh();
}

void State::reserve(int slots) {
  const int capacity = columns_.capacity();
  if (slots <= capacity) return;
  const int wanted = std::max(slots, 2 * capacity);
  columns_.reserve(wanted);
  resize_sums(wanted);
}

void State::resize_sums(int wanted) {
  gram_.conservativeResize(wanted, wanted);
  covariance_.conservativeResize(wanted, wanted);
  product_.conservativeResize(wanted);
  mean_.conservativeResize(wanted);
}

std::vector<Place> State::places() const {
  std::vector<Place> out;
  for (const Slot& slot : slots_) out.push_back({slot.location, slot.shape});
  return out;
}

void State::fill_columns(const std::vector<Place>& places,
                         Eigen::MatrixXd& exponents,
                         Eigen::MatrixXd& values) const {
  exponents.resize(data_->n(), places.size());
  values.resize(data_->n(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    columns_.fill(places[i], response_, exponents.col(i), values.col(i));
  }
}

const Column& State::make_column(const Place& place, int from) {
  made_.place = place;
  made_.exponents.resize(data_->n());
  made_.values.resize(data_->n());
  if (from >= 0) {
    const Slot& slot = slots_[from];
    columns_.fill_changed(from, {slot.location, slot.shape}, place, response_,
                          made_.exponents, made_.values);
  } else {
    columns_.fill(place, response_, made_.exponents, made_.values);
  }
  made_.gram = data_->arithmetic->product(columns(), made_.values);
  made_.own = made_.values.squaredNorm();
  made_.response = made_.values.dot(response());
  return made_;
}

// What follows from the proposed columns.
double State::propose_columns() {
  next_.columns = true;
  next_.shapes.clear();
  next_.phi = phi_;
  next_.gram.resize(gram_.rows(), gram_.cols());
  next_.product.resize(product_.size());
  const Eigen::MatrixXd& values = columns_.proposed_values();
  sum_up(values, next_.gram, next_.product);
  next_.factor =
      scaled_factor(values, next_.gram, next_.product, phi_, deviations());
  return log_likelihood_of(next_.factor, phi_);
}

double State::propose_scales(const ScaleChange& change) {
  columns_.propose_scales(change, places(), response_);
  return propose_columns();
}

double State::propose_direction(int l, Eigen::VectorXd direction) {
  columns_.propose_direction(l, std::move(direction), places(), response_);
  return propose_columns();
}

double State::propose_shapes(std::vector<ShapePointer> shapes) {
  std::vector<Place> to = places();
  std::vector<char> changed(to.size());
  for (std::size_t j = 0; j < to.size(); ++j) {
    changed[j] = to[j].shape != shapes[j];
    to[j].shape = shapes[j];
  }
  columns_.propose_places(to, changed, response_);
  const double log_likelihood = propose_columns();
  next_.shapes = std::move(shapes);
  return log_likelihood;
}

double State::propose_noise(double phi) {
  next_.columns = false;
  next_.shapes.clear();
  next_.phi = phi;
  next_.factor =
      scaled_factor(columns_.values(), gram_, product_, phi, deviations());
  return log_likelihood_of(next_.factor, phi);
}

void State::accept_proposal() {
  phi_ = next_.phi;
  if (next_.columns) {
    columns_.accept_proposal();
    gram_.swap(next_.gram);
    product_.swap(next_.product);
  }
  for (std::size_t j = 0; j < next_.shapes.size(); ++j) {
    slots_[j].shape = std::move(next_.shapes[j]);
  }
  take_factor(next_.factor);
}

void State::set_response(Eigen::VectorXd response) {
  response_.set(std::move(response));
  product_.head(size()) =
      data_->arithmetic->product(columns(), this->response());
  refactor();
}

void State::set_terms(TermValues values, bool turn, double phi,
                      Eigen::VectorXd weights) {
  phi_ = phi;
  response_.set_terms(std::move(values), turn, phi, std::move(weights));
  recompute_values();
}

void State::fix_terms(TermValues values) {
  response_.fix_terms(std::move(values));
  recompute_values();
}

void State::set_row_weights(Eigen::VectorXd weights) {
  response_.set_row_weights(std::move(weights));
  recompute_values();
}

void State::recompute_values() {
  columns_.compute_values(size(), response_);
  sum_up(columns_.values(), gram_, product_);
  refactor();
}

void State::set_amplitude(double amplitude) {
  amplitude_ = amplitude;
  set_variances();
  if (data_->terms.slopes == 0) {
    refactor();
    return;
  }
  response_.set_amplitude(amplitude, phi_);
  recompute_values();
}

void State::set_variances() {
  for (int j = 0; j < size(); ++j) {
    variance_[j] = amplitude_ * slots_[j].variance(prior_->collapsed());
  }
}

void State::scale_varphi(double factor) {
  for (Slot& slot : slots_) {
    for (double& varphi : slot.varphi) varphi *= factor;
  }
  set_variances();
  refactor();
}

double State::log_likelihood_at(double amplitude) const {
  if (amplitude == amplitude_) return log_likelihood_;
  if (data_->terms.slopes > 0) {
    State other = *this;
    other.set_amplitude(amplitude);
    return other.log_likelihood();
  }
  Eigen::VectorXd s(size());
  for (int j = 0; j < size(); ++j) {
    s[j] = std::sqrt(amplitude * slots_[j].variance(prior_->collapsed()));
  }
  return log_likelihood_of(
      scaled_factor(columns_.values(), gram_, product_, phi_, s), phi_);
}

void State::take_back(Eigen::MatrixXd columns) {
  columns_.take_back(std::move(columns));
  if (product_.size() < columns_.capacity()) resize_sums(columns_.capacity());
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
                   std::vector<char> included, double phi,
                   Eigen::VectorXd row_weights) {
  place(std::move(slots));
  phi_ = phi;
  response_.set_noise(phi);
  if (row_weights.size() > 0) {
    response_.set_row_weights(std::move(row_weights));
  }
  columns_.include(std::move(log_lambda), std::move(included));
  refresh();
}

}  // namespace kernelbayes::bark
