#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "machine.hpp"

namespace kernelbayes {

/// How long a tempered sampler runs and what it keeps.
struct Schedule {
  int warmup = 0, iterations = 1000, thin = 1;
  bool ladder = false;  // records all levels, not draws of the first
  std::uint64_t seed = 0;

  int total() const { return warmup + iterations; }
};

/// The position of a level in the schedule.
struct Turn {
  int time, warmup;
  bool adapts() const { return time < warmup; }
};

/// Metropolis-coupled chains. As a chain it keeps draws of its first level, at
/// power 1; as a ladder, from prior to posterior, one number per level and
/// iteration (see Level::observe()), from which the evidence follows.
///
/// A Level has the types Model (what levels share; levels refer to it), Draws
/// and Counts, and
///   Level(const Model&, int index, Rng&)   where it starts
///   sweep(const Turn&, Counts&, Rng&)
///   record(Draws&, Rng&)                    of a chain
///   double observe()                        of a ladder
///   transfer(Archive&)
///   exchange(Level&, Level&, Rng&)          whether neighbours were exchanged.
template <class Level>
class Tempered : public Machine {
 public:
  using Model = typename Level::Model;

  Tempered(const Schedule& schedule, Model model)
      : schedule_(schedule),
        model_(std::move(model)),
        // A ladder uses other random numbers than a chain with the same seed.
        rng_(schedule.seed, schedule.ladder ? 1 : 0),
        draws_(model_),
        counts_(model_) {
    const Stopwatch watch;
    const int count = model_.levels();
    levels_.reserve(count);
    for (int l = 0; l < count; ++l) levels_.emplace_back(model_, l, rng_);
    if (schedule_.ladder) exchanged_.assign(count - 1, 0);
    seconds_ = watch.seconds();
  }

  int time() const override { return time_; }

  void advance(int n) override {
    const Stopwatch watch;
    for (; n > 0 && time_ < schedule_.total(); --n) {
      iterate();
      if (time_ == schedule_.warmup) counts_ = typename Level::Counts(model_);
      const int after = time_ - schedule_.warmup;
      if (after > 0 && after % schedule_.thin == 0) record();
    }
    seconds_ += watch.seconds();
  }

  void transfer(Archive& archive) override {
    archive("time", time_, Want::between(0, schedule_.total()));
    archive.list("levels", levels_.size(), [this](Archive& level, auto l) {
      levels_[l].transfer(level);
    });
    if (schedule_.ladder) {
      archive("swapped", exchanged_, Want::of(exchanged_.size()));
      archive("observed", observed_, Want::anything());
    } else {
      archive.within("draws", [this](Archive& list) { draws_.transfer(list); });
      counts_.transfer(archive);
    }
    archive("rng", rng_);
    double seconds = seconds_;
    archive("seconds", seconds, Want::between(0, 1e300));
    if (archive.reading()) seconds_ += seconds;
  }

 private:
  void iterate() {
    const Turn turn{time_, schedule_.warmup};
    typename Level::Counts heated(model_);
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      levels_[l].sweep(turn, l == 0 ? counts_ : heated, rng_);
    }
    // Neighbours: even and odd pairs alternate.
    for (std::size_t l = time_ % 2; l + 1 < levels_.size(); l += 2) {
      const bool exchanged = exchange(levels_[l], levels_[l + 1], rng_);
      counts_.note_exchange(exchanged);
      if (schedule_.ladder && !turn.adapts()) exchanged_[l] += exchanged;
    }
    ++time_;
  }

  void record() {
    if (!schedule_.ladder) return levels_[0].record(draws_, rng_);
    for (const Level& level : levels_) observed_.push_back(level.observe());
  }

  const Schedule schedule_;
  const Model model_;
  Rng rng_;
  std::vector<Level> levels_;      // of a chain, the coldest first
  typename Level::Draws draws_;    // of a chain
  typename Level::Counts counts_;  // moves of the first level after the warmup
  std::vector<double> exchanged_, observed_;  // of a ladder
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace kernelbayes
