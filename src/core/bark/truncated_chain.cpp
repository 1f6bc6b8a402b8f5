#include "truncated_chain.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"

namespace kernelbayes {
namespace bark {

TruncatedChain::TruncatedChain(const Prior& prior,
                               const TruncatedSettings& settings, Data data)
    : prior_(prior),
      settings_(settings),
      data_(std::move(data)),
      rng_(settings.chain.seed, settings.ladder.empty() ? 0 : 1) {
  const Stopwatch watch;
  place_rungs();
  const std::size_t n = rungs_.size() - ladder();
  for (std::size_t level = 0; level < n; ++level) {
    states_.emplace_back(data_, prior_);
    TruncatedState& state = states_.back();
    state.set_amplitude(rungs_[level].amplitude);
    if (chain().prior_only) {
      draw_prior(state, rng_);
    } else {
      draw_start(state, rng_);
    }
  }
  sweeps_.assign(n, TruncatedSweep(prior_, data_.p()));
  swapped_.assign(ladder() ? n - 1 : 0, 0);
  seconds_ = watch.seconds();
}

void TruncatedChain::place_rungs() {
  const auto& steps = settings_.ladder;
  for (const double t : steps) rungs_.push_back(Rung::at(t, data_.family));
  if (ladder()) {
    if (steps.size() < 2 || steps.front() != 0 || steps.back() != 1) {
      throw std::invalid_argument("a ladder goes from 0 to 1");
    }
    return;
  }
  double t = 1;
  for (int level = 0; level < chain().n_temps; ++level) {
    rungs_.push_back(Rung::at(t, data_.family));
    if (chain().prior_only) rungs_.back().power = 0;
    t *= data_.latent() ? chain().amplitude_ratio : chain().power_ratio;
  }
}

void TruncatedChain::advance(int n) {
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) {
    for (int level = 0; level < levels(); ++level) sweep(level);
    exchange_neighbours();
    ++time_;
    if (time_ == chain().warmup) counts_ = TruncatedCounts();
    const int after = time_ - chain().warmup;
    if (after > 0 && after % chain().thin == 0) record();
  }
  seconds_ += watch.seconds();
}

void TruncatedChain::sweep(int level) {
  TruncatedState& state = states_[level];
  if (ladder() && level == 0) {
    draw_prior(state, rng_);
    draw_latent(state, rng_);
    return;
  }
  TruncatedCounts heated, &counts = level == 0 ? counts_ : heated;
  sweeps_[level].full(state, rungs_[level].power, time_ < chain().warmup,
                      counts, rng_);
}

// Neighbours, the even pairs and the odd ones in turn.
void TruncatedChain::exchange_neighbours() {
  for (int i = time_ % 2; i + 1 < levels(); i += 2) {
    const bool swapped =
        exchange(states_[i], rungs_[i], states_[i + 1], rungs_[i + 1], rng_);
    counts_.note(kTruncatedTemperature, swapped);
    if (ladder() && time_ >= chain().warmup) swapped_[i] += swapped;
  }
}

void TruncatedChain::record() {
  if (ladder()) return record_ratios();
  const TruncatedState& state = states_[0];
  draws_.noise.push_back(state.noise());
  draws_.log_likelihood.push_back(data_.latent()
                                      ? probit_log_likelihood(state, 1)
                                      : state.log_likelihood());
  const auto& scales = state.log_lambda();
  draws_.log_lambda.insert(draws_.log_lambda.end(), scales.begin(),
                           scales.end());
  draws_.included.insert(draws_.included.end(), state.included().begin(),
                         state.included().end());
  record_kernels();
}

// f depends on the sum of the coefficients at a location.
void TruncatedChain::record_kernels() {
  const TruncatedState& state = states_[0];
  const std::size_t first = draws_.location.size();
  std::vector<int> at(data_.n() + 1, -1);
  for (int j = 0; j < state.size(); ++j) {
    const Kernel& kernel = state.kernel(j);
    int& slot = at[kernel.location];
    if (slot < 0) {
      slot = static_cast<int>(draws_.location.size());
      draws_.location.push_back(kernel.location);
      draws_.copies.push_back(0);
      draws_.beta.push_back(0);
    }
    ++draws_.copies[slot];
    draws_.beta[slot] += kernel.beta;
  }
  draws_.m.push_back(static_cast<int>(draws_.location.size() - first));
}

void TruncatedChain::record_ratios() {
  for (int k = 0; k < levels(); ++k) {
    log_ratio_.push_back(tempered(states_[k], rungs_[k + 1]) -
                         tempered(states_[k], rungs_[k]));
  }
}

TruncatedChain::Saved TruncatedChain::save() const {
  Saved out;
  out.time = time_;
  for (const auto& state : states_) out.states.push_back(state.save());
  for (const auto& sweep : sweeps_) out.steps.push_back(sweep.steps());
  out.counts = counts_;
  out.rng = rng_.state();
  out.draws = draws_;
  out.swapped = swapped_;
  out.log_ratio = log_ratio_;
  out.seconds = seconds_;
  return out;
}

void TruncatedChain::restore(Saved saved) {
  if (saved.time > total() || saved.states.size() != states_.size() ||
      saved.steps.size() != states_.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  for (int i = 0; i < levels(); ++i) {
    states_[i].restore(std::move(saved.states[i]));
    sweeps_[i].set_steps(saved.steps[i]);
  }
  counts_ = saved.counts;
  rng_.set_state(saved.rng);
  draws_ = std::move(saved.draws);
  swapped_ = std::move(saved.swapped);
  log_ratio_ = std::move(saved.log_ratio);
  seconds_ += saved.seconds;
}

}  // namespace bark
}  // namespace kernelbayes
