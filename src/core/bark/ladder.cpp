#include "ladder.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"

namespace kernelbayes {
namespace bark {

Ladder::Ladder(const Prior& prior, const LadderSettings& settings, Data data)
    : prior_(prior),
      settings_(settings),
      data_(std::move(data)),
      rng_(settings.seed, 1) {  // not the numbers of a chain of this seed
  const Stopwatch watch;
  const auto& t = settings_.rungs;
  if (t.size() < 2 || t.front() != 0 || t.back() != 1) {
    throw std::invalid_argument("a ladder goes from 0 to 1");
  }
  for (const double rung : t) rungs_.push_back(Rung::at(rung, data_.family));
  for (std::size_t k = 0; k + 1 < rungs_.size(); ++k) {
    states_.emplace_back(data_, prior_);
    states_[k].set_amplitude(rungs_[k].amplitude);
    draw_start(states_[k], rng_);
  }
  sweeps_.assign(states_.size(), Sweep(prior_, data_));
  swapped_.assign(states_.size() - 1, 0);
  seconds_ = watch.seconds();
}

void Ladder::advance(int n) {
  const Stopwatch watch;
  Counts counts;
  for (int i = 0; i < n && time_ < total(); ++i) {
    sweeps_[0].lowest(states_[0], time_ < settings_.warmup, rng_);
    for (int k = 1; k < steps(); ++k) {
      sweeps_[k].full(states_[k], rungs_[k].power, time_ < settings_.warmup,
                      counts, rng_);
    }
    exchange_neighbours();
    ++time_;
    if (time_ > settings_.warmup) record();
  }
  seconds_ += watch.seconds();
}

void Ladder::exchange_neighbours() {
  for (int k = time_ % 2; k + 1 < steps(); k += 2) {
    const bool swapped =
        exchange(states_[k], rungs_[k], states_[k + 1], rungs_[k + 1], rng_);
    if (time_ >= settings_.warmup) swapped_[k] += swapped;
  }
}

void Ladder::record() {
  for (int k = 0; k < steps(); ++k) {
    log_ratio_.push_back(tempered(states_[k], rungs_[k + 1]) -
                         tempered(states_[k], rungs_[k]));
  }
}

Ladder::Saved Ladder::save() const {
  Saved out;
  out.time = time_;
  for (const State& state : states_) out.states.push_back(state.save(false));
  for (const Sweep& sweep : sweeps_) out.steps.push_back(sweep.steps());
  out.rng = rng_.state();
  out.swapped = swapped_;
  out.log_ratio = log_ratio_;
  out.seconds = seconds_;
  return out;
}

void Ladder::restore(Saved saved) {
  if (saved.time > total() || saved.states.size() != states_.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  for (std::size_t k = 0; k < states_.size(); ++k) {
    states_[k].restore(std::move(saved.states[k]));
    sweeps_[k].set_steps(saved.steps[k]);
  }
  rng_.set_state(saved.rng);
  swapped_ = std::move(saved.swapped);
  log_ratio_ = std::move(saved.log_ratio);
  seconds_ += saved.seconds;
}

}  // namespace bark
}  // namespace kernelbayes
