#include "truncated_chain.hpp"

#include <algorithm>

namespace kernelbayes::bark {

double tempered(const TruncatedState& state, const Rung& rung) {
  if (rung.power == 0) return 0;
  if (state.data().latent()) {
    return rung.power * probit_log_likelihood(state, rung.amplitude);
  }
  return rung.power * state.log_likelihood();
}

void enter(TruncatedState& state, const Rung& rung, Rng& rng) {
  state.set_amplitude(rung.amplitude);
  draw_latent(state, rng);
}

TruncatedSweep::TruncatedSweep(const Prior& prior, int p)
    : kernels_(static_cast<int>(std::min(std::max(prior.nu, 4.0), 200.0))),
      scales_(prior.equal() ? 0 : std::min(p, 10)) {
  steps_.scales.assign(p, {0});
}

void TruncatedSweep::full(TruncatedState& state, double power, bool adapt,
                          Counts& counts, Rng& rng) {
  state.refresh();
  kernels(state, power, counts, rng);
  if (power > 0) latent(state, adapt, counts, rng);
  coefficients(state, power, counts, rng);
  if (power > 0) latent(state, adapt, counts, rng);
  shared_scales(state, power, scales_, adapt, steps_, counts, rng);
  noise_gibbs(state, power, rng);
  if (power > 0) latent(state, adapt, counts, rng);
}

void TruncatedSweep::kernels(TruncatedState& state, double power,
                             Counts& counts, Rng& rng) {
  for (int i = 0; i < kernels_; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, power, rng));
    counts.note(kLocal, local_move(state, power, rng));
    if (i % 2 == 1) continue;
    counts.note(kRelocate, relocate_move(state, power, rng));
  }
}

// Steps of all lengths: none is best for all coefficients. Blocks of a few
// kernels move far; the block of all adapts f at once.
void TruncatedSweep::coefficients(TruncatedState& state, double power,
                                  Counts& counts, Rng& rng) {
  const int m = state.size();
  for (int j = 0; j < m; ++j) {
    counts.note(kCoefficient, coefficient_move(state, j, power, rng));
    const double step = std::exp2(1 - 6 * rng.uniform());
    counts.note(kWalk, walk_move(state, j, power, step, rng));
    counts.note(kSign, sign_move(state, j, power, rng));
  }
  for (int i = 0; i < m; i += 2) {
    const int size = 2 << rng.index(3);
    counts.note(kEllipse, ellipse_move(state, size, power, rng));
  }
  counts.note(kEllipse, ellipse_move(state, m, power, rng));
}

void TruncatedSweep::latent(TruncatedState& state, bool adapt,
                            Counts& counts, Rng& rng) {
  if (!state.data().latent()) return;
  draw_latent(state, rng);
  const bool moved = magnitude_move(state, steps_.magnitude.length(), rng);
  counts.note(kMagnitude, moved, steps_.magnitude, adapt);
}

TruncatedChain::TruncatedChain(const Model& model, const Rung& rung)
    : state_(model.data, model.prior), sweep_(model.prior, model.data.p()) {
  state_.set_amplitude(rung.amplitude);
}

void TruncatedChain::sweep(const Turn& turn, const Rung& rung, Counts& counts,
                           Rng& rng) {
  sweep_.full(state_, rung.power, turn.adapts(), counts, rng);
}

void TruncatedChain::lowest(const Turn&, Rng& rng) {
  bark::draw_prior(state_, rng);
  draw_latent(state_, rng);
}

namespace {

void record_kernels(const TruncatedState& state, KernelDraws& draws) {
  const auto& scales = state.log_lambda();
  const auto& included = state.included();
  draws.log_lambda.insert(draws.log_lambda.end(), scales.begin(), scales.end());
  draws.included.insert(draws.included.end(), included.begin(), included.end());
  const std::size_t first = draws.location.size();
  std::vector<int> at(state.data().n() + 1, -1);
  for (int j = 0; j < state.size(); ++j) {
    const Kernel& kernel = state.kernel(j);
    int& slot = at[kernel.location];
    if (slot < 0) {
      slot = static_cast<int>(draws.location.size());
      draws.location.push_back(kernel.location);
      draws.copies.push_back(0);
      draws.beta.push_back(0);
    }
    ++draws.copies[slot];
    draws.beta[slot] += kernel.beta;
  }
  draws.m.push_back(static_cast<int>(draws.location.size() - first));
}

}  // namespace

void TruncatedChain::record(Draws& draws, Rng&) const {
  draws.noise.push_back(state_.noise());
  draws.log_likelihood.push_back(state_.data().latent()
                                     ? probit_log_likelihood(state_, 1)
                                     : state_.log_likelihood());
  record_kernels(state_, draws.kernels);
}

void TruncatedChain::transfer(Archive& archive) {
  state_.transfer(archive);
  archive.within("steps", [this](Archive& list) { sweep_.transfer(list); });
}

}  // namespace kernelbayes::bark
