#include "response.hpp"

#include <limits>
#include <stdexcept>

#include "core/archive.hpp"

namespace kernelbayes::bark {

namespace {

void check_classes(const Data& data) {
  const auto y = data.y.array();
  if (data.latent() && !data.ordered() && (y.abs() != 1).any()) {
    throw std::invalid_argument("a probit model needs y of -1 and 1");
  }
  if (!data.ordered()) return;
  const bool whole = (y == y.round()).all();
  if (data.classes < 2 || !whole || (y < 1).any() || (y > data.classes).any()) {
    throw std::invalid_argument("ordered classes must be numbers from 1");
  }
}

}  // namespace

Response::Response(const Data& data)
    : data_(&data),
      terms_(data.terms),
      log_weights_(0.5 * data.weights.array().log().sum()) {
  if (data.y.size() != data.x.rows() || data.weights.size() != data.x.rows()) {
    throw std::invalid_argument("x, y and weights differ in length");
  }
  const bool weighted = (data.weights.array() != 1).any();
  if (data.latent() && weighted) {
    throw std::invalid_argument("models of classes need weights 1");
  }
  check_classes(data);
  if (data.latent()) {
    set_log_gaps(std::vector<double>(data.ordered() ? data.classes - 2 : 0));
    take(Eigen::VectorXd::Zero(data.n()));
  } else if (data.student()) {
    set_row_weights(Eigen::VectorXd::Ones(data.n()));
  } else {
    if (weighted) root_weights_ = data.weights.cwiseSqrt();
    take(data.y);
  }
}

void Response::set(Eigen::VectorXd values) {
  if (!terms_.any() || !data_->latent()) return take(std::move(values));
  values_ = values;
  plain_ = std::move(values) + shift_;
  weigh(values_);
  squares_ = values_.squaredNorm();
}

// Takes y itself.
void Response::take(Eigen::VectorXd values) {
  if (terms_.any()) {
    plain_ = std::move(values);
    return update();
  }
  values_ = std::move(values);
  if (root_weights_.size() > 0) values_.array() *= root_weights_.array();
  squares_ = values_.squaredNorm();
}

// (B101): T, and what follows from it.
void Response::update() {
  terms_.build(root_weights_, noise_, !fixed_);
  shift_ = fixed_ ? terms_.fit(terms_.values()) : terms_.shift();
  if (data_->terms.offset.size() > 0) shift_ += data_->terms.offset;
  values_ = plain_ - shift_;
  weigh(values_);
  squares_ = values_.squaredNorm();
  log_weights_ = -0.5 * terms_.log_determinant();
  if (root_weights_.size() > 0) {
    log_weights_ += root_weights_.array().log().sum();
  }
}

void Response::set_terms(TermValues values, bool turn, double noise,
                         Eigen::VectorXd row_weights) {
  terms_.set(std::move(values));
  if (turn) terms_.turn();
  fixed_ = false;
  noise_ = noise;
  if (row_weights.size() > 0) return set_row_weights(std::move(row_weights));
  update();
}

void Response::fix_terms(TermValues values) {
  terms_.set(std::move(values));
  fixed_ = true;
  update();
}

void Response::set_noise(double noise) {
  if (!terms_.any() || noise == noise_) return;
  noise_ = noise;
  update();
}

void Response::set_amplitude(double amplitude, double noise) {
  terms_.set_amplitude(amplitude);
  noise_ = noise;
  update();
}

Eigen::VectorXd Response::residuals(const Eigen::VectorXd& fit) const {
  Eigen::VectorXd out = values_ - fit;
  terms_.undo(out);
  return out;
}

Eigen::VectorXd Response::unweighted(Eigen::VectorXd fit) const {
  terms_.undo(fit);
  if (root_weights_.size() > 0) fit.array() /= root_weights_.array();
  return fit;
}

void Response::set_row_weights(Eigen::VectorXd row_weights) {
  row_weights_ = std::move(row_weights);
  root_weights_ = data_->weights.cwiseProduct(row_weights_).cwiseSqrt();
  log_weights_ = root_weights_.array().log().sum();
  take(data_->y);
}

void Response::set_log_gaps(std::vector<double> log_gaps) {
  log_gaps_ = std::move(log_gaps);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  cuts_ = {-kInfinity, 0};
  for (const double gap : log_gaps_) {
    cuts_.push_back(cuts_.back() + std::exp(gap));
  }
  cuts_.push_back(kInfinity);
}

void Response::weigh(Eigen::Ref<Eigen::MatrixXd> columns) const {
  if (root_weights_.size() > 0) {
    columns.array().colwise() *= root_weights_.array();
  }
  terms_.apply(columns);
}

void Response::weigh_rows(Eigen::Ref<Eigen::VectorXd> rows,
                          Eigen::Index first) const {
  if (root_weights_.size() == 0) return;
  rows.array() *= root_weights_.segment(first, rows.size()).array();
}

void Response::transfer(Archive& archive) {
  const int n = data_->n();
  if (terms_.any()) {
    archive.within("terms", [this](Archive& list) { terms_.transfer(list); });
  }
  if (data_->latent()) {
    std::vector<double> gaps = log_gaps_;
    if (!gaps.empty()) archive("log_gaps", gaps, Want::of(gaps.size()));
    Eigen::VectorXd latent = terms_.any() ? plain_ : values_;
    archive("latent", latent, Want::of(n));
    if (archive.reading()) {
      set_log_gaps(std::move(gaps));
      take(std::move(latent));
    }
  } else if (data_->student()) {
    Eigen::VectorXd weights = row_weights_;
    archive("row_weights", weights, Want::positive(n));
    if (archive.reading()) set_row_weights(std::move(weights));
    archive("df", df_, Want::positive());
  }
  if (terms_.any() && archive.reading()) update();
}

}  // namespace kernelbayes::bark
