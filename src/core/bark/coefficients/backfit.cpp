#include "backfit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/bark/moves/variance_proposal.hpp"
#include "core/bark/state/row_parts.hpp"
#include "moves_of_one.hpp"

namespace kernelbayes::bark {

Backfit::Backfit(State& state, Rng& rng)
    : data_(&state.data()),
      prior_(&state.prior()),
      pool_(&state.pool()),
      columns_(&state.kernel_columns()),
      response_(&state.response_model()),
      phi_(state.noise()),
      residuals_(state.response()) {
  choose_stretches(rng);
  for (int j = 0; j < state.size(); ++j) slots_.push_back(state.slot(j));
  const State::Factor factor = state.factor();
  ok_ = factor.ok;
  if (!ok_) return;
  values_ = state.lend_columns();
  if (size() == 0) return;
  const Eigen::VectorXd beta = State::draw_coefficients(factor, rng);
  beta_.assign(beta.data(), beta.data() + beta.size());
  residuals_.noalias() -= columns() * beta;
  for (int j = 0; j < size(); ++j) own_.push_back(values_.col(j).squaredNorm());
}

void Backfit::give(State& state, Eigen::VectorXd row_weights) {
  state.take_back(std::move(values_));
  state.assign(slots_, state.log_lambda(), state.included(), state.noise(),
               std::move(row_weights));
}

// Terms need all rows at once.
Backfit::Candidate Backfit::make_column(const Place& place, int slot) const {
  const Eigen::Index n = data_->n();
  const bool terms = response_->terms().any();
  const Eigen::Index part = terms ? n : std::min(n, KernelColumns::kPart);
  Candidate out{place, slot, Eigen::VectorXd(n), Products::Zero()};
  const auto fill = [&](Eigen::Index first, Eigen::Index rows,
                        Eigen::VectorXd& exponents) {
    auto values = out.values.segment(first, rows);
    if (terms) {
      columns_->fill(place, *response_, exponents, values);
    } else {
      columns_->fill_rows(place, *response_, first, exponents.head(rows),
                          values);
    }
    const auto residuals = residuals_.segment(first, rows);
    Products sums{values.squaredNorm(), values.dot(residuals), 0, 0};
    if (slot < 0) return sums;
    const auto leaving = values_.col(slot).segment(first, rows);
    sums[kCross] = values.dot(leaving);
    sums[kLeaving] = leaving.dot(residuals);
    return sums;
  };
  out.products = RowParts(n, part).add(data_->executor, Eigen::VectorXd(part),
                                       out.products, fill);
  return out;
}

Information Backfit::information(int j) const {
  const double score = values_.col(j).dot(residuals_) + beta_[j] * own_[j];
  return {phi_ * own_[j], phi_ * score};
}

Information Backfit::information(const Candidate& column) const {
  const Products& sums = column.products;
  const double own = column.slot < 0 ? 0 : beta_[column.slot] * sums[kCross];
  return {phi_ * sums[kOwn], phi_ * (sums[kResidual] + own)};
}

Information Backfit::replaced(const Candidate& column) const {
  const int j = column.slot;
  const double score = column.products[kLeaving] + beta_[j] * own_[j];
  return {phi_ * own_[j], phi_ * score};
}

// Evenly spaced stretches, so that the order of the rows hardly matters; others
// each time.
void Backfit::choose_stretches(Rng& rng) {
  const Glance& glance = data_->glance;
  const Eigen::Index n = data_->n(), stretch = glance.stretch;
  if (n < 2 * glance.rows) return;
  const Eigen::Index every = stretch * n / glance.rows;
  const auto start = rng.index(static_cast<std::uint32_t>(every));
  for (Eigen::Index first = start; first + stretch <= n; first += every) {
    stretches_.push_back(first);
  }
  glimpse_power_ = std::sqrt(double(every) / double(stretch));
}

// (B115).
double Backfit::glimpse_weight(double own, double score) const {
  const double scale = glimpse_power_ * phi_;
  return VarianceProposal(*prior_, 1, {scale * own, scale * score}, 1)
      .log_evidence();
}

double Backfit::glimpse(const Place& place, int j) const {
  const Eigen::Index stretch = data_->glance.stretch;
  Eigen::VectorXd exponents(stretch), values(stretch);
  double own = 0, score = 0;
  for (const Eigen::Index first : stretches_) {
    columns_->fill_rows(place, *response_, first, exponents, values);
    own += values.squaredNorm();
    score += values.dot(residuals_.segment(first, stretch)) +
             beta_[j] * values.dot(values_.col(j).segment(first, stretch));
  }
  return glimpse_weight(own, score);
}

// The same sums for the kernel that is there; with terms its column in memory
// is another.
double Backfit::glimpse(int j) const {
  if (response_->terms().any()) return glimpse(place(j), j);
  const Eigen::Index stretch = data_->glance.stretch;
  double own = 0, residual = 0;
  for (const Eigen::Index first : stretches_) {
    const auto values = values_.col(j).segment(first, stretch);
    own += values.squaredNorm();
    residual += values.dot(residuals_.segment(first, stretch));
  }
  return glimpse_weight(own, residual + beta_[j] * own);
}

double Backfit::draw(const Information& information, double varphi,
                     Rng& rng) const {
  const double precision = information.precision + varphi;
  return information.score / precision + rng.normal() / std::sqrt(precision);
}

void Backfit::shift(int j, double step) {
  residuals_.noalias() -= step * values_.col(j);
}

void Backfit::add(Candidate column, double varphi, Rng& rng) {
  const int j = size();
  if (j == values_.cols()) {
    values_.conservativeResize(Eigen::NoChange, std::max(8, 2 * j));
  }
  beta_.push_back(draw(information(column), varphi, rng));
  values_.col(j) = column.values;
  own_.push_back(column.products[kOwn]);
  slots_.push_back({column.place.location, 1, {varphi}, column.place.shape});
  shift(j, beta_[j]);
}

void Backfit::remove(int j) {
  shift(j, -beta_[j]);
  const int last = size() - 1;
  if (j != last) {
    values_.col(j) = values_.col(last);
    slots_[j] = std::move(slots_[last]);
    beta_[j] = beta_[last];
    own_[j] = own_[last];
  }
  slots_.pop_back();
  beta_.pop_back();
  own_.pop_back();
}

void Backfit::replace(Candidate column, double varphi, Rng& rng) {
  const int j = column.slot;
  const double beta = draw(information(column), varphi, rng);
  residuals_.noalias() += beta_[j] * values_.col(j) - beta * column.values;
  values_.col(j) = column.values;
  beta_[j] = beta;
  own_[j] = column.products[kOwn];
  slots_[j] = {column.place.location, 1, {varphi}, column.place.shape};
}

// Moves -----------------------------------------------------------------------

namespace {

bool birth(Backfit& state, Rng& rng) {
  const Prior& prior = state.prior();
  const double log_odds = std::log(prior.nu / (state.copies() + 1));
  const Place place = draw_place(prior, state.data(), state.pool(), rng);
  Backfit::Candidate column = state.make_column(place);
  VarianceProposal proposal(prior, 1, state.information(column), 1);
  if (!accept(proposal.propose(rng) + log_odds, rng)) return false;
  state.add(std::move(column), proposal.take(rng), rng);
  return true;
}

bool death(Backfit& state, Rng& rng) {
  if (state.copies() == 0) return false;
  const Prior& prior = state.prior();
  const double log_odds = std::log(state.copies() / prior.nu);
  const int j = static_cast<int>(rng.index(state.size()));
  const VarianceProposal proposal(prior, 1, state.information(j), 1);
  const double log_weight = proposal.log_weight(state.slot(j).varphi[0]);
  if (!accept(log_odds - log_weight, rng)) return false;
  state.remove(j);
  return true;
}

}  // namespace

bool birth_death_move(Backfit& state, Rng& rng) {
  return rng.uniform() < 0.5 ? birth(state, rng) : death(state, rng);
}

// (B114): most places are rejected after a glimpse.
bool move_kernel(Backfit& state, int j, const Place& place, double log_proposal,
                 double power, Rng& rng) {
  const Prior& prior = state.prior();
  if (state.glimpses()) {
    const double glimpsed =
        log_proposal + state.glimpse(place, j) - state.glimpse(j);
    if (!accept(glimpsed, rng)) return false;
    log_proposal -= glimpsed;
  }
  Backfit::Candidate column = state.make_column(place, j);
  const VarianceProposal from(prior, 1, state.replaced(column), power);
  VarianceProposal to(prior, 1, state.information(column), power);
  const double log_ratio =
      to.propose(rng) - from.log_weight(state.slot(j).varphi[0]) + log_proposal;
  if (!accept_near_one(log_ratio, rng)) return false;
  state.replace(std::move(column), to.take(rng), rng);
  return true;
}

bool relocate_move(Backfit& state, Rng& rng) {
  return relocate_one(state, rng);
}
bool local_move(Backfit& state, Rng& rng) { return local_one(state, rng); }

bool try_scales(Backfit&, const ScaleChange&, double, double, Rng&) {
  throw std::logic_error("backfitting needs kernels with their own scales");
}

// The part of a sweep in which kernels move given the coefficients of the
// others.

bool backfits(const Data& data, const Prior& prior) {
  return data.n() >= data.many_rows && prior.own_scales && !prior.clustered() &&
         !data.latent() && prior.nu > 0;
}

bool backfits(const State& state, double power) {
  return power == 1 && state.amplitude() == 1 &&
         backfits(state.data(), state.prior());
}

// At least kLeast: few kernels would get too few moves.
int Sweep::backfit_rounds(int kernels) {
  constexpr int kLeast = 100, kMost = 400;
  return std::min(std::max(3 * kernels / 2, kLeast), kMost);
}

// False if coefficients cannot be computed.
bool Sweep::backfit(State& state, bool adapt, Counts& counts, Rng& rng) {
  if (rounds_ == 0 || adapt) rounds_ = backfit_rounds(state.size());
  Backfit fit(state, rng);
  if (!fit.ok()) return false;
  moves_of_one(fit, rounds_, counts, rng);
  give(fit, state, rng);
  if (state.prior().pooled) move_pool(state, 1, counts, rng);
  return true;
}

// The noise, and Student's row weights, are drawn with the coefficients still
// there: all that depends on both is then computed once. With terms they are
// drawn with the terms.
void Sweep::give(Backfit& fit, State& state, Rng& rng) {
  if (state.data().terms.any()) return fit.give(state);
  fit.give(state, draw_noise(state, fit.residuals(), rng));
}

}  // namespace kernelbayes::bark
