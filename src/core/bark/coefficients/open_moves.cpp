// Moves of kernels with their coefficients, latent responses integrated out.
#include <cmath>

#include "core/bark/moves/moves.hpp"
#include "open.hpp"

namespace kernelbayes::bark {

namespace {

// The Cauchy density of width w, (B9), up to a constant.
double log_cauchy(double beta, double width) {
  const double t = beta / width;
  return -std::log(width) - std::log1p(t * t);
}

}  // namespace

// (B91).
bool coefficient_move(OpenState& state, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const double width = state.width(j);
  const double from = std::asinh(state.beta(j) / width);
  const double length = std::exp2(1 - 6 * rng.uniform());
  const double to = from + length * rng.normal();
  if (std::abs(to) > OpenState::kLargest) return false;
  return state.set_coefficient(j, width * std::sinh(to),
                               log_cosh(from) - log_cosh(to), rng);
}

namespace {

// (B92), (B93).
bool birth(OpenState& state, Rng& rng) {
  constexpr double kPi = 3.14159265358979323846;
  const Prior& prior = state.prior();
  const double log_odds = std::log(prior.nu / (state.copies() + 1));
  const Place place = draw_place(prior, state.data(), state.pool(), rng);
  const int j = state.find(place.location);
  if (j >= 0) {
    const double width = state.width(j);
    const double log_prior = log_cauchy(state.beta(j), width + prior.eps) -
                             log_cauchy(state.beta(j), width);
    return state.set_copies(j, state.slot(j).copies + 1, log_odds + log_prior,
                            rng);
  }
  const double beta = prior.eps * std::tan(kPi * (rng.uniform() - 0.5));
  return state.add(state.make_column(place), beta, log_odds, rng);
}

bool death(OpenState& state, Rng& rng) {
  if (state.copies() == 0) return false;
  const Prior& prior = state.prior();
  const double log_odds = std::log(state.copies() / prior.nu);
  const int j = choose_copy(state, rng).slot;
  const int copies = state.slot(j).copies;
  if (copies == 1) return state.remove(j, log_odds, rng);
  const double width = state.width(j);
  const double log_prior = log_cauchy(state.beta(j), width - prior.eps) -
                           log_cauchy(state.beta(j), width);
  return state.set_copies(j, copies - 1, log_odds + log_prior, rng);
}

}  // namespace

bool birth_death_move(OpenState& state, Rng& rng) {
  return rng.uniform() < 0.5 ? birth(state, rng) : death(state, rng);
}

// (B94): an occupied location is no move.
bool relocate_move(OpenState& state, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  Place to = draw_place(state.prior(), state.data(), state.pool(), rng);
  if (state.find(to.location) >= 0) return false;
  const int others = state.slot(j).copies - 1;
  const double log_prior =
      others == 0 ? 0
                  : others * state.prior().centres.log_ratio(
                                 to.location, state.slot(j).location);
  return state.move(j, state.make_column(to), log_prior, rng);
}

bool local_move(OpenState& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (state.size() == 0 || prior.centre_sd > 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const double sharpness = std::exp2(4 * rng.uniform());
  const Slot& slot = state.slot(j);
  if (slot.location == 0) return false;
  Eigen::VectorXd weights;
  const double leaving =
      similarities(*state.data().arithmetic, state.exponents(j),
                   slot.location - 1, sharpness, weights);
  const int row = choose_weighted(weights, leaving, rng);
  if (row < 0 || state.find(row + 1) >= 0) return false;
  auto column = state.make_column({row + 1, slot.shape});
  const double back = similarities(*state.data().arithmetic, column.exponents,
                                   row, sharpness, weights);
  const double log_prior =
      slot.copies * prior.centres.log_ratio(row + 1, slot.location);
  return state.move(j, std::move(column), std::log(leaving / back) + log_prior,
                    rng);
}

bool try_scales(OpenState& state, const ScaleChange& change, double log_ratio,
                double, Rng& rng) {
  return state.change(change, log_ratio, rng);
}

bool move_kernel(OpenState& state, int j, const Place& place, double log_ratio,
                 double, Rng& rng) {
  return state.move(j, state.make_column(place), log_ratio, rng);
}

}  // namespace kernelbayes::bark
