#include "moves.hpp"

namespace kernelbayes {
namespace bark {

std::vector<char> draw_included(const Prior& prior, int p, Rng& rng) {
  std::vector<char> out(p, 1);
  if (!prior.selects()) return out;
  const double one = rng.gamma(prior.ap), other = rng.gamma(prior.bp);
  const double probability = one / (one + other);
  for (char& in : out) in = rng.uniform() < probability;
  return out;
}

std::vector<double> draw_scales(const Prior& prior,
                                const std::vector<char>& included, Rng& rng) {
  int d = 0;
  for (const char in : included) d += in;
  std::vector<double> out(included.size(), 0.0);
  if (d == 0) return out;
  const double equal = log_gamma_draw(prior.a, prior.b * d, rng);
  for (std::size_t l = 0; l < out.size(); ++l) {
    if (prior.equal()) {
      out[l] = equal;
    } else if (included[l]) {
      out[l] = log_gamma_draw(prior.share_shape(d), prior.b, rng);
    }
  }
  return out;
}

void draw_prior(State& state, Rng& rng) {
  const Prior& prior = state.prior();
  std::vector<Slot> slots;
  std::vector<int> at(state.data().n() + 1, -1);
  const int copies = rng.poisson(prior.nu);
  for (int c = 0; c < copies; ++c) {
    const auto location = rng.index(static_cast<unsigned>(at.size()));
    int& j = at[location];
    if (j < 0) {
      j = static_cast<int>(slots.size());
      slots.push_back(
          {static_cast<int>(location), 1, {prior.draw_varphi(rng)}});
    } else {
      ++slots[j].copies;
      if (!prior.collapsed()) {
        slots[j].varphi.push_back(prior.draw_varphi(rng));
      }
    }
  }
  std::vector<char> included = draw_included(prior, state.data().p(), rng);
  std::vector<double> scales = draw_scales(prior, included, rng);
  const double phi = prior.noise_fixed
                         ? prior.noise_precision
                         : rng.gamma(prior.noise_shape) / prior.noise_rate;
  state.assign(std::move(slots), std::move(scales), std::move(included), phi);
}

// Kernels from the prior, but all predictors included with the scale 1 / p
// each: from scales of 1 a chain in many dimensions never leaves the state in
// which every kernel is that of its own row alone. Noise as if there were
// nothing else: the prior may be improper.
void draw_start(State& state, Rng& rng) {
  const Prior& prior = state.prior();
  draw_prior(state, rng);
  std::vector<Slot> slots;
  for (int j = 0; j < state.size(); ++j) slots.push_back(state.slot(j));
  const int n = state.data().n(), p = state.data().p();
  const double phi =
      prior.noise_fixed
          ? prior.noise_precision
          : (prior.noise_shape + 0.5 * n) /
                (prior.noise_rate + 0.5 * state.response().squaredNorm());
  state.assign(std::move(slots), std::vector<double>(p, -std::log(double(p))),
               std::vector<char>(p, 1), phi);
  if (state.data().probit()) draw_latent(state, rng);
}

}  // namespace bark
}  // namespace kernelbayes
