#include <numeric>

#include "core/bark/moves/moves.hpp"
#include "core/bark/scales/scales.hpp"

namespace kernelbayes::bark {

namespace {

// An improper prior has no draws: the noise stays.
double prior_noise(const State& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (prior.noise_fixed) return prior.noise_precision;
  if (prior.noise_rate == 0) return state.noise();
  return prior.draw_noise(0, 0, rng);
}

}  // namespace

// (B6), (B8), (B11), (B12).
void draw_prior(State& state, Rng& rng) {
  const Prior& prior = state.prior();
  const int inputs = prior.n_inputs(state.data().p());
  if (prior.pooled) state.set_pool(draw_pool(prior, inputs, rng));
  std::vector<Slot> slots;
  std::vector<int> at(state.data().n() + 1, -1);
  const int copies = rng.poisson(prior.nu);
  if (prior.clustered()) draw_concentration(state, rng);
  std::vector<ShapePointer> drawn;
  for (int c = 0; c < copies; ++c) {
    Place place = draw_place(prior, state.data(), state.pool(), rng);
    if (prior.clustered() && place.shape) {
      place.shape =
          join_or_found(place.shape, drawn, state.pool().concentration, rng);
      drawn.push_back(place.shape);
    }
    const int j = prior.shaped() ? -1 : at[place.location];
    if (j < 0) {
      if (!prior.shaped()) at[place.location] = static_cast<int>(slots.size());
      slots.push_back(
          {place.location, 1, {prior.draw_varphi(rng)}, place.shape});
    } else {
      ++slots[j].copies;
      if (!prior.collapsed()) {
        slots[j].varphi.push_back(prior.draw_varphi(rng));
      }
    }
  }
  draw_prior_directions(state, rng);
  std::vector<char> included(inputs, 1);
  std::vector<double> scales(inputs, 0.0);
  if (!prior.own_scales) {
    included = draw_included(prior, inputs, rng);
    scales = draw_scales(prior, included, rng);
  }
  state.assign(std::move(slots), std::move(scales), std::move(included),
               prior_noise(state, rng));
}

// Kernels from the prior, but with all p inputs included and scale 1 / p each:
// from scales of 1, a chain in many dimensions never leaves the state in which
// every kernel covers only its own row. Noise as if f were 0: the prior may be
// improper.
namespace {

// All inputs of the kernel's group, with small scales.
std::shared_ptr<Shape> start_shape(const Prior& prior, const Shape& drawn,
                                   int p) {
  auto out = std::make_shared<Shape>(drawn);
  std::vector<int> inputs(p);
  std::iota(inputs.begin(), inputs.end(), 0);
  if (!prior.groups.empty()) inputs = prior.groups[drawn.group];
  const std::size_t d = inputs.size();
  const double scale = -std::log(static_cast<double>(d));
  out->included = spread_group(std::vector<char>(d, 1), inputs, p);
  out->log_lambda = spread_group(std::vector<double>(d, scale), inputs, p);
  return out;
}

}  // namespace

void draw_start(State& state, Rng& rng) {
  const Prior& prior = state.prior();
  draw_prior(state, rng);
  std::vector<Slot> slots;
  for (int j = 0; j < state.size(); ++j) slots.push_back(state.slot(j));
  const int n = state.data().n(), p = prior.n_inputs(state.data().p());
  const std::vector<double> scales(p, -std::log(double(p)));
  const std::vector<char> included(p, 1);
  if (prior.own_scales) {
    int cluster = 0;
    for (Slot& slot : slots) {
      if (slot.location == 0) continue;
      auto shape = start_shape(prior, *slot.shape, p);
      shape->cluster = cluster++;
      slot.shape = std::move(shape);
    }
  }
  if (prior.pooled) state.set_pool(start_pool(prior, p));
  const double phi =
      prior.noise_fixed
          ? prior.noise_precision
          : (prior.noise_shape + 0.5 * n) /
                (prior.noise_rate + 0.5 * state.response().squaredNorm());
  state.assign(std::move(slots), scales, included, phi);
  if (state.data().latent()) draw_latent(state, rng);
}

}  // namespace kernelbayes::bark
