#include "fields_chain.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"

namespace kernelbayes {
namespace bark {

FieldsChain::FieldsChain(const Prior& prior, const ChainSettings& settings,
                         Data data, Classes classes)
    : prior_(prior),
      settings_(settings),
      data_(std::move(data)),
      classes_(std::move(classes)),
      rng_(settings.seed) {
  const Stopwatch watch;
  draws_.fields.resize(classes_.count);
  double t = 1;
  for (int level = 0; level < settings_.n_temps; ++level) {
    Rung rung = Rung::at(t, Family::kProbit);
    if (settings_.prior_only) rung.power = 0;
    levels_.emplace_back(data_, prior_, classes_, rung);
    if (settings_.prior_only) {
      levels_.back().draw_prior(rng_);
    } else {
      levels_.back().draw_start(rng_);
    }
    // More fields, more that a swap must agree with.
    t *= std::pow(settings_.amplitude_ratio, 1 / std::sqrt(classes_.count));
  }
  seconds_ = watch.seconds();
}

void FieldsChain::advance(int n) {
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) {
    sweep();
    swap_temperatures();
    ++time_;
    if (time_ == settings_.warmup) counts_ = Counts();
    const int after = time_ - settings_.warmup;
    if (after > 0 && after % settings_.thin == 0) record();
  }
  seconds_ += watch.seconds();
}

void FieldsChain::sweep() {
  // What updates lose in accuracy is regained now and then.
  constexpr int kRefresh = 1000;
  const bool adapt = time_ < settings_.warmup;
  Counts heated;
  for (FieldsLevel& level : levels_) {
    Counts& counts = &level == &levels_[0] ? counts_ : heated;
    Fields& fields = level.fields();
    for (int k = 0; !settings_.full && k < fields.size(); ++k) {
      if (time_ % kRefresh == 0) fields[k].refresh();
    }
    level.sweep(settings_.full, adapt, counts, rng_);
  }
}

// Neighbours, the even pairs and the odd ones in turn.
void FieldsChain::swap_temperatures() {
  for (std::size_t i = time_ % 2; i + 1 < levels_.size(); i += 2) {
    counts_.note(kTemperature, exchange(levels_[i], levels_[i + 1], rng_));
  }
}

void FieldsChain::record() {
  const Fields& fields = levels_[0].fields();
  Eigen::MatrixXd f(data_.n(), fields.size());
  for (int k = 0; k < fields.size(); ++k) {
    f.col(k) =
        fields[k].columns() *
        record_kernels(fields[k], settings_.prior_only, draws_.fields[k], rng_);
  }
  draws_.log_likelihood.push_back(class_log_likelihood(fields, f));
}

FieldsChain::Saved FieldsChain::save() const {
  Saved out;
  out.time = time_;
  for (const FieldsLevel& level : levels_) {
    out.levels.push_back(level.save(!settings_.full));
  }
  out.counts = counts_;
  out.rng = rng_.state();
  out.draws = draws_;
  out.seconds = seconds_;
  return out;
}

void FieldsChain::restore(Saved saved) {
  if (saved.time > total() || saved.levels.size() != levels_.size() ||
      saved.draws.fields.size() != draws_.fields.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    levels_[i].restore(std::move(saved.levels[i]));
  }
  counts_ = saved.counts;
  rng_.set_state(saved.rng);
  draws_ = std::move(saved.draws);
  seconds_ += saved.seconds;
}

}  // namespace bark
}  // namespace kernelbayes
