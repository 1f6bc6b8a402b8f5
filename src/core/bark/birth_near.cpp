#include <limits>

#include "kernelbayes/constants.hpp"
#include "moves.hpp"
#include "pool.hpp"
#include "variance_proposal.hpp"

namespace kernelbayes {
namespace bark {

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Of the mutation (B87): the probability that the row stays, the standard
// deviations of kept log scales and of new ones.
constexpr double kStay = 0.5, kStep = 0.7, kNew = 2;

double log_normal_density(double x, double mean, double sd) {
  const double z = (x - mean) / sd;
  return -0.5 * (z * z + kLogTwoPi) - std::log(sd);
}

double flip_probability(const Prior& prior, int p) {
  return prior.selects() ? std::min(1.0 / p, 0.5) : 0;
}

// Around which log scales of predictors that enter are drawn. Scales that are
// nearly 0 say nothing.
double mean_log_scale(const Shape& shape) {
  constexpr double kLeast = -6;
  double sum = 0;
  int d = 0;
  for (std::size_t l = 0; l < shape.included.size(); ++l) {
    if (!shape.included[l]) continue;
    sum += std::max(shape.log_lambda[l], kLeast);
    ++d;
  }
  return d > 0 ? sum / d : -1;
}

Place mutate(const State& state, const Place& from, Rng& rng) {
  auto shape = std::make_shared<Shape>(*from.shape);
  const int p = static_cast<int>(shape->included.size());
  const double flip = flip_probability(state.prior(), p);
  const double mean = mean_log_scale(*shape);
  for (int l = 0; l < p; ++l) {
    if (rng.uniform() < flip) {
      shape->included[l] = !shape->included[l];
      if (shape->included[l]) shape->log_lambda[l] = mean + kNew * rng.normal();
    } else if (shape->included[l]) {
      shape->log_lambda[l] += kStep * rng.normal();
    }
  }
  const bool stays = rng.uniform() < kStay;
  const auto n = static_cast<std::uint32_t>(state.data().n());
  const int row = stays ? from.location : 1 + static_cast<int>(rng.index(n));
  return {row, std::move(shape)};
}

// log T(to | from), (B87).
double log_mutation(const State& state, const Place& from, const Place& to) {
  const Shape &a = *from.shape, &b = *to.shape;
  const int p = static_cast<int>(a.included.size());
  const double flip = flip_probability(state.prior(), p);
  const double mean = mean_log_scale(a);
  const double stays = from.location == to.location ? kStay : 0;
  double out = std::log(stays + (1 - kStay) / state.data().n());
  for (int l = 0; l < p; ++l) {
    const bool flips = a.included[l] != b.included[l];
    out += flips ? std::log(flip) : std::log1p(-flip);
    if (!b.included[l]) continue;
    out += flips ? log_normal_density(b.log_lambda[l], mean, kNew)
                 : log_normal_density(b.log_lambda[l], a.log_lambda[l], kStep);
  }
  return out;
}

// The kernels that a birth may start from: all but intercepts.
std::vector<int> kernels_of(const State& state) {
  std::vector<int> out;
  for (int j = 0; j < state.size(); ++j) {
    if (state.slot(j).location != 0) out.push_back(j);
  }
  return out;
}

Place place_of(const State& state, int j) {
  return {state.slot(j).location, state.slot(j).shape};
}

// log of the prior density of a place over the mean of T from the kernels, one
// of them left out.
double log_place_ratio(const State& state, const std::vector<int>& kernels,
                       int but, const Place& place) {
  double sum = kMinusInfinity;
  int k = 0;
  for (const int j : kernels) {
    if (j == but) continue;
    sum = log_add(sum, log_mutation(state, place_of(state, j), place));
    ++k;
  }
  const double prior = std::log(state.prior().centres.probability(
                           place.location, state.data().n())) +
                       log_shape_density(state, *place.shape);
  return prior - (sum - std::log(k));
}

bool birth_near(State& state, const std::vector<int>& kernels, double power,
                Rng& rng) {
  const auto k = static_cast<std::uint32_t>(kernels.size());
  if (k == 0) return false;
  const Prior& prior = state.prior();
  const Place from = place_of(state, kernels[rng.index(k)]);
  const Place to = mutate(state, from, rng);
  const Column column = state.make_column(to);
  const VarianceProposal proposal(prior, 1, state.information(column), power);
  const double varphi = proposal.draw(rng);
  const double log_ratio = proposal.log_weight(varphi) +
                           std::log(prior.nu / (k + 1)) +
                           log_place_ratio(state, kernels, -1, to);
  if (!accept(log_ratio, rng)) return false;
  state.add(column, {to.location, 1, {varphi}, to.shape});
  return true;
}

bool death_near(State& state, const std::vector<int>& kernels, double power,
                Rng& rng) {
  const auto k = static_cast<std::uint32_t>(kernels.size());
  if (k < 2) return false;
  const Prior& prior = state.prior();
  const int j = kernels[rng.index(k)];
  const VarianceProposal proposal(prior, 1, state.information(j), power);
  const double log_ratio =
      std::log(k / prior.nu) - proposal.log_weight(state.slot(j).varphi[0]) -
      log_place_ratio(state, kernels, j, place_of(state, j));
  if (!accept(log_ratio, rng)) return false;
  state.remove(state.score_change(j, 0));
  return true;
}

}  // namespace

// (B88).
bool birth_near_move(State& state, double power, Rng& rng) {
  if (!state.prior().copies_vary()) return false;
  const std::vector<int> kernels = kernels_of(state);
  if (rng.uniform() < 0.5) return birth_near(state, kernels, power, rng);
  return death_near(state, kernels, power, rng);
}

}  // namespace bark
}  // namespace kernelbayes
