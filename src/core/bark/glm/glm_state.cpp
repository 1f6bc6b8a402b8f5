#include "glm_state.hpp"

#include <cmath>
#include <map>
#include <stdexcept>

#include "core/archive.hpp"
#include "core/bark/coefficients/moves_of_one.hpp"
#include "core/bark/moves/variance_proposal.hpp"
#include "core/bark/scales/scales.hpp"

namespace kernelbayes::bark {

namespace {

// log of the normal likelihood at beta against 0.
double log_normal_ratio(const Information& about, double beta) {
  return beta * (about.score - 0.5 * beta * about.precision);
}

double draw_coefficient(const Information& about, double varphi, Rng& rng) {
  const double precision = about.precision + varphi;
  return about.score / precision + rng.normal() / std::sqrt(precision);
}

}  // namespace

GlmState::GlmState(const Data& data, const Prior& prior)
    : GlmState(data, prior, data.family->likelihood(data, prior)) {}

GlmState::GlmState(const Data& data, const Prior& prior,
                   LikelihoodPtr likelihood)
    : data_(&data),
      prior_(&prior),
      columns_(data, prior),
      likelihood_(std::move(likelihood)),
      terms_(data.terms) {
  if (prior.pooled) pool_ = start_pool(prior, data.p());
  TermValues values = terms_.values();
  values.gamma = linear_mean();
  terms_.set(std::move(values));
  compute();
}

Eigen::VectorXd GlmState::offset() const {
  if (data_->terms.offset.size() > 0) return data_->terms.offset;
  return Eigen::VectorXd::Zero(data_->n());
}

Eigen::VectorXd GlmState::linear_mean() const {
  const TermData& terms = data_->terms;
  if (terms.linear_mean.size() > 0) return terms.linear_mean;
  return Eigen::VectorXd::Zero(terms.linear.cols());
}

void GlmState::compute() {
  values_.resize(data_->n(), std::max(8, size()));
  for (int j = 0; j < size(); ++j) values_.col(j) = make_column(place(j));
  compute_fit(terms_.values());
}

void GlmState::compute_fit(const TermValues& terms) {
  fit_ = offset() + terms_.fit(terms);
  for (int j = 0; j < size(); ++j) fit_ += beta_[j] * column(j);
  at_ = likelihood_->derivatives(fit_);
}

double GlmState::kernel_mean() const {
  const Eigen::VectorXd& weights = data_->weights;
  double sum = 0;
  for (int j = 0; j < size(); ++j) sum += beta_[j] * weights.dot(column(j));
  return sum / weights.sum();
}

Eigen::VectorXd GlmState::make_column(const Place& place) const {
  Eigen::VectorXd exponents(data_->n()), out(data_->n());
  columns_.fill_exponents(place, exponents);
  data_->arithmetic->exp_minus(exponents, out);
  return out;
}

// (B116): about the coefficient of a column in place of one with coefficient
// beta, or of a further one. On a cliff of the likelihood its normal form says
// nothing, and huge numbers would cancel: the gain is bounded.
Information GlmState::working(const Derivatives& at,
                              const Eigen::VectorXd& column,
                              const Eigen::VectorXd* leaving,
                              double beta) const {
  constexpr double kMostGain = 1e5;
  const Eigen::VectorXd weighted = at.minus_second.cwiseProduct(column);
  double score = column.dot(at.first);
  if (leaving) score += beta * weighted.dot(*leaving);
  const double precision = weighted.dot(column);
  const double most = std::sqrt(2 * precision * kMostGain);
  return {precision, std::min(std::max(score, -most), most)};
}

void GlmState::take(Eigen::VectorXd fit, Derivatives at) {
  fit_ = std::move(fit);
  at_ = std::move(at);
}

void GlmState::put(int j, const Place& place, const Eigen::VectorXd& values,
                   double varphi, double beta) {
  slots_[j] = {place.location, 1, {varphi}, place.shape};
  beta_[j] = beta;
  values_.col(j) = values;
}

// (B117).
bool GlmState::add(const Place& place, double log_ratio, Rng& rng) {
  const Eigen::VectorXd values = make_column(place);
  const Information about = working(at_, values, nullptr, 0);
  VarianceProposal proposal(*prior_, 1, about, 1);
  const double log_weight = proposal.propose(rng);
  const double varphi = proposal.take(rng);
  const double beta = draw_coefficient(about, varphi, rng);
  Eigen::VectorXd fit = fit_ + beta * values;
  Derivatives at = likelihood_->derivatives(fit);
  log_ratio += log_weight + at.log_likelihood - at_.log_likelihood -
               log_normal_ratio(about, beta);
  if (!accept(log_ratio, rng)) return false;
  const int j = size();
  if (j == values_.cols()) {
    values_.conservativeResize(Eigen::NoChange, 2 * j);
  }
  slots_.emplace_back();
  beta_.push_back(0);
  put(j, place, values, varphi, beta);
  take(std::move(fit), std::move(at));
  return true;
}

// The inverse.
bool GlmState::remove(int j, double log_ratio, Rng& rng) {
  const double beta = beta_[j];
  const Eigen::VectorXd values = column(j);
  Eigen::VectorXd fit = fit_ - beta * values;
  Derivatives at = likelihood_->derivatives(fit);
  const Information about = working(at, values, nullptr, 0);
  const VarianceProposal proposal(*prior_, 1, about, 1);
  log_ratio -= proposal.log_weight(slots_[j].varphi[0]) + at_.log_likelihood -
               at.log_likelihood - log_normal_ratio(about, beta);
  if (!accept(log_ratio, rng)) return false;
  const int last = size() - 1;
  if (j != last) {
    slots_[j] = std::move(slots_[last]);
    beta_[j] = beta_[last];
    values_.col(j) = values_.col(last);
  }
  slots_.pop_back();
  beta_.pop_back();
  take(std::move(fit), std::move(at));
  return true;
}

// (B117): forth with the derivatives here, back with those there.
bool GlmState::replace(int j, const Place& place, double log_ratio, Rng& rng) {
  const double from = beta_[j];
  const Eigen::VectorXd leaving = column(j), values = make_column(place);
  const Information forth = working(at_, values, &leaving, from);
  VarianceProposal to(*prior_, 1, forth, 1);
  const double log_weight = to.propose(rng);
  const double varphi = to.take(rng);
  const double beta = draw_coefficient(forth, varphi, rng);
  Eigen::VectorXd fit = fit_ + (beta * values - from * leaving);
  Derivatives at = likelihood_->derivatives(fit);
  const Information back = working(at, leaving, &values, beta);
  const VarianceProposal here(*prior_, 1, back, 1);
  log_ratio += at.log_likelihood - at_.log_likelihood + log_weight -
               log_normal_ratio(forth, beta) -
               here.log_weight(slots_[j].varphi[0]) +
               log_normal_ratio(back, from);
  if (!accept_near_one(log_ratio, rng)) return false;
  put(j, place, values, varphi, beta);
  take(std::move(fit), std::move(at));
  return true;
}

// (B136).
bool GlmState::reshape(const std::vector<ShapePointer>& shapes,
                       double log_ratio, Rng& rng) {
  std::map<int, Eigen::VectorXd> changed;
  Eigen::VectorXd fit = fit_;
  for (int j = 0; j < size(); ++j) {
    if (shapes[j] == slots_[j].shape) continue;
    Eigen::VectorXd values = make_column({slots_[j].location, shapes[j]});
    fit += beta_[j] * (values - column(j));
    changed.emplace(j, std::move(values));
  }
  Derivatives at = likelihood_->derivatives(fit);
  log_ratio += at.log_likelihood - at_.log_likelihood;
  if (!accept(log_ratio, rng)) return false;
  for (const auto& [j, values] : changed) {
    slots_[j].shape = shapes[j];
    values_.col(j) = values;
  }
  take(std::move(fit), std::move(at));
  return true;
}

double GlmState::draw_varphi(double beta, Rng& rng) const {
  const double rate = prior_->varphi_rate() + 0.5 * beta * beta;
  return at_least_tiny(rng.gamma(0.5 * (prior_->alpha + 1)) / rate);
}

// Standardised coefficients are N(0, I) given varphi: an ellipse around the
// mode, (B97).
bool GlmState::move_coefficients(Rng& rng) {
  constexpr int kTimes = 2;
  TermValues values = terms_.values();
  const int m = size(), q = static_cast<int>(values.gamma.size());
  Eigen::VectorXd sd(m + q);
  Eigen::MatrixXd a(data_->n(), m + q);
  for (int j = 0; j < m; ++j) {
    sd[j] = 1 / std::sqrt(slots_[j].varphi[0]);
    a.col(j) = sd[j] * column(j);
  }
  sd.tail(q) = terms_.linear_sd();
  a.rightCols(q) = data_->terms.linear * sd.tail(q).asDiagonal();
  const Eigen::VectorXd mean = linear_mean();
  Eigen::VectorXd base = offset() + data_->terms.linear * mean;
  for (std::size_t k = 0; k < values.factors.size(); ++k) {
    base += terms_.weighted(values, static_cast<int>(k));
  }
  const Mode mode = find_mode(*likelihood_, a, base);
  const Eigen::Map<const Eigen::VectorXd> beta(beta_.data(), m);
  Standardised state{Eigen::VectorXd(m + q), fit_, at_.log_likelihood};
  state.w << beta.cwiseQuotient(sd.head(m)),
      (values.gamma - mean).cwiseQuotient(sd.tail(q));
  bool moved = false;
  for (int i = 0; i < kTimes && m + q > 0; ++i) {
    moved |= ellipse_move(*likelihood_, mode, a, base, state, rng);
  }
  for (int j = 0; j < m; ++j) {
    beta_[j] = sd[j] * state.w[j];
    slots_[j].varphi = {draw_varphi(beta_[j], rng)};
  }
  values.gamma = mean + sd.tail(q).cwiseProduct(state.w.tail(q));
  terms_.set(std::move(values));
  at_ = likelihood_->derivatives(state.fit);
  fit_ = std::move(state.fit);
  return moved;
}

// (B143), (B144).
void GlmState::move_slopes(Rng& rng) {
  constexpr int kTries = 3;
  const int p = data_->terms.slopes;
  if (p == 0) return;
  TermValues values = terms_.values();
  SlopeSd sd(data_->terms, values.slope_sd);
  sd.draw(values.gamma.tail(p).squaredNorm(), rng);
  Eigen::VectorXd part = terms_.weighted_slopes(values);
  for (int t = 0; t < kTries; ++t) {
    const SlopeSd::Stretch to = sd.propose(rng);
    Eigen::VectorXd fit = fit_ + to.grow * part;
    Derivatives at = likelihood_->derivatives(fit);
    const double gain = at.log_likelihood - at_.log_likelihood;
    if (!accept(gain + to.log_ratio, rng)) continue;
    sd.take(to);
    take(std::move(fit), std::move(at));
    part *= 1 + to.grow;
    values.gamma.tail(p) *= 1 + to.grow;
  }
  values.slope_sd = sd.value();
  terms_.set(std::move(values));
}

void GlmState::move_parameters(Rng& rng) {
  if (likelihood_->parameters().empty()) return;
  likelihood_->move_parameters(fit_, rng);
  at_ = likelihood_->derivatives(fit_);
}

void GlmState::shift_linear(const Eigen::VectorXd& by) {
  TermValues values = terms_.values();
  values.gamma += by;
  terms_.set(std::move(values));
  compute_fit(terms_.values());
}

void GlmState::draw_prior(Rng& rng) {
  slots_.clear();
  beta_.clear();
  if (prior_->pooled) pool_ = draw_pool(*prior_, data_->p(), rng);
  for (int left = rng.poisson(prior_->nu); left > 0; --left) {
    Place place = draw_place(*prior_, *data_, pool_, rng);
    const double varphi = prior_->draw_varphi(rng);
    slots_.push_back({place.location, 1, {varphi}, place.shape});
    beta_.push_back(rng.normal() / std::sqrt(varphi));
  }
  TermValues values = terms_.draw_prior(rng);
  values.gamma += linear_mean();
  terms_.set(std::move(values));
  likelihood_->draw_parameters(rng);
  compute();
}

void GlmState::set_response(Data& data, Eigen::VectorXd y) {
  const std::vector<double> parameters = likelihood_->parameters();
  data.y = std::move(y);
  likelihood_ = data.family->likelihood(data, *prior_);
  likelihood_->set_parameters(parameters);
  at_ = likelihood_->derivatives(fit_);
}

void GlmState::transfer(Archive& archive) {
  transfer_slots(archive, slots_, *data_, *prior_);
  archive("beta", beta_, Want::of(size()));
  if (prior_->pooled) bark::transfer(archive, pool_, data_->p());
  archive.within("terms", [this](Archive& list) { terms_.transfer(list); });
  std::vector<double> parameters = likelihood_->parameters();
  archive("parameters", parameters, Want::positive(parameters.size()));
  if (!archive.reading()) return;
  likelihood_->set_parameters(parameters);
  compute();
}

// Moves -----------------------------------------------------------------------

bool birth_death_move(GlmState& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (rng.uniform() < 0.5) {
    const double log_odds = std::log(prior.nu / (state.copies() + 1));
    const Place place = draw_place(prior, state.data(), state.pool(), rng);
    return state.add(place, log_odds, rng);
  }
  if (state.copies() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  return state.remove(j, std::log(state.copies() / prior.nu), rng);
}

bool relocate_move(GlmState& state, Rng& rng) {
  return relocate_one(state, rng);
}
bool local_move(GlmState& state, Rng& rng) { return local_one(state, rng); }

bool move_kernel(GlmState& state, int j, const Place& place,
                 double log_proposal, double, Rng& rng) {
  return state.replace(j, place, log_proposal, rng);
}

bool try_shapes(GlmState& state, const std::vector<ShapePointer>& shapes,
                double log_ratio, double, Rng& rng) {
  return state.reshape(shapes, log_ratio, rng);
}

bool try_scales(GlmState&, const ScaleChange&, double, double, Rng&) {
  throw std::logic_error("this sampler needs kernels with their own scales");
}

}  // namespace kernelbayes::bark
