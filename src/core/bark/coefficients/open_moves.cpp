// Moves of kernels with their coefficients, latent responses integrated out.
#include <cmath>

#include "core/bark/chain/sweep.hpp"
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

// The part of a sweep with the coefficients in the state.

// The two halves need each other: trajectories and ellipses move the size of f,
// and scales are free only if the coefficients are carried along.
void Sweep::open(State& state, Intervals rows, bool adapt, Counts& counts,
                 Rng& rng) {
  if (!state.prior().collapsed() || state.prior().nu == 0) return;
  OpenState open(state, std::move(rows), rng);
  if (!open.ok()) return;
  trajectory(open, adapt, counts, rng);
  kernels(open, counts, rng);
  constexpr int kTimes = 2;
  for (int i = 0; i < kTimes; ++i) {
    open.hold(rng);
    for (int j = 0; j < 2; ++j) {
      counts.note(kCoefficientEllipse, open.ellipse(rng));
    }
    if (!state.prior().own_scales) scales(open, i == 0, counts, rng);
    open.release();
  }
  if (state.prior().own_scales) {
    for (int i = 0; i < kernels_ / 2; ++i) scales(open, true, counts, rng);
  }
  open.give(state, rng);
}

void Sweep::trajectory(OpenState& open, bool adapt, Counts& counts, Rng& rng) {
  constexpr int kSteps = 10;
  constexpr double kTarget = 0.75;
  Steps::One& step = steps_.trajectory;
  const double length = step.length() * (0.6 + 0.8 * rng.uniform());
  const auto followed = open.follow(length, kSteps, rng);
  if (open.size() == 0) return;  // there was nothing to follow
  counts.note(kTrajectory, followed.moved);
  if (adapt) step.adapt(followed.probability, kTarget);
}

void Sweep::kernels(OpenState& open, Counts& counts, Rng& rng) {
  for (int i = 0; i < kernels_; ++i) {
    counts.note(kOpenCoefficient, coefficient_move(open, rng));
    counts.note(kOpenBirthDeath, birth_death_move(open, rng));
  }
  for (int i = 0; i < kernels_ / 2; ++i) {
    counts.note(kOpenRelocate, relocate_move(open, rng));
    counts.note(kOpenLocal, local_move(open, rng));
  }
}

// Steps have random lengths.
void Sweep::scales(OpenState& open, bool flip, Counts& counts, Rng& rng) {
  const Prior& prior = open.prior();
  const auto step = [&rng] { return std::exp2(1 - 4 * rng.uniform()); };
  counts.note(kOpenScale, scale_all_move(open, 1, step(), rng));
  if (!prior.equal()) {
    counts.note(kOpenScale, scale_any_move(open, 1, step(), rng));
  }
  if (!flip || !prior.selects()) return;
  counts.note(kOpenFlip, flip_move(open, 1, rng));
}

}  // namespace kernelbayes::bark
