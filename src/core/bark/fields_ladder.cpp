#include "fields_ladder.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"

namespace kernelbayes {
namespace bark {

FieldsLadder::FieldsLadder(const Prior& prior, const LadderSettings& settings,
                           Data data, Classes classes)
    : prior_(prior),
      settings_(settings),
      data_(std::move(data)),
      classes_(std::move(classes)),
      rng_(settings.seed, 1) {  // not the numbers of a chain of this seed
  const Stopwatch watch;
  const auto& t = settings_.rungs;
  if (t.size() < 2 || t.front() != 0 || t.back() != 1) {
    throw std::invalid_argument("a ladder goes from 0 to 1");
  }
  for (std::size_t k = 0; k + 1 < t.size(); ++k) {
    levels_.emplace_back(data_, prior_, classes_,
                         Rung::at(t[k], Family::kProbit));
    levels_.back().draw_start(rng_);
  }
  swapped_.assign(levels_.size() - 1, 0);
  seconds_ = watch.seconds();
}

void FieldsLadder::advance(int n) {
  const Stopwatch watch;
  Counts counts;
  for (int i = 0; i < n && time_ < total(); ++i) {
    levels_[0].draw_prior(rng_);
    draw_latent(levels_[0].fields(), rng_);
    for (std::size_t k = 1; k < levels_.size(); ++k) {
      levels_[k].sweep(true, time_ < settings_.warmup, counts, rng_);
    }
    exchange_neighbours();
    ++time_;
    if (time_ > settings_.warmup) record();
  }
  seconds_ += watch.seconds();
}

void FieldsLadder::exchange_neighbours() {
  for (std::size_t k = time_ % 2; k + 1 < levels_.size(); k += 2) {
    const bool swapped = exchange(levels_[k], levels_[k + 1], rng_);
    if (time_ >= settings_.warmup) swapped_[k] += swapped;
  }
}

void FieldsLadder::record() {
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    const Rung next = Rung::at(settings_.rungs[k + 1], Family::kProbit);
    log_ratio_.push_back(levels_[k].tempered(next) -
                         levels_[k].tempered(levels_[k].rung()));
  }
}

FieldsLadder::Saved FieldsLadder::save() const {
  Saved out;
  out.time = time_;
  for (const FieldsLevel& level : levels_) {
    out.levels.push_back(level.save(false));
  }
  out.rng = rng_.state();
  out.swapped = swapped_;
  out.log_ratio = log_ratio_;
  out.seconds = seconds_;
  return out;
}

void FieldsLadder::restore(Saved saved) {
  if (saved.time > total() || saved.levels.size() != levels_.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    levels_[k].restore(std::move(saved.levels[k]));
  }
  rng_.set_state(saved.rng);
  swapped_ = std::move(saved.swapped);
  log_ratio_ = std::move(saved.log_ratio);
  seconds_ += saved.seconds;
}

}  // namespace bark
}  // namespace kernelbayes
