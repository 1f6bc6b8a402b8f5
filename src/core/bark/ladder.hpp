#pragma once

#include <cstdint>

#include "sweep.hpp"

namespace kernelbayes {
namespace bark {

struct LadderSettings {
  int warmup = 0, iterations = 1000;
  std::vector<double> rungs;  // 0 < ... < 1, see Rung::at()
  std::uint64_t seed = 0;
};

/// Chains at the rungs below 1, neighbours exchanged, from which the evidence
/// follows by stepping stones: log Z is the sum over rungs of log E_low[L_high
/// / L_low]. At the rung 0, where responses tell nothing of the kernels, these
/// are drawn afresh each time. A resumable state machine.
class Ladder {
 public:
  Ladder(const Prior& prior, const LadderSettings& settings, Data data);
  // States refer to this object's data.
  Ladder(const Ladder&) = delete;
  Ladder& operator=(const Ladder&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Saved {
    int time = 0;
    std::vector<State::Saved> states;
    std::vector<Steps> steps;
    std::array<std::uint64_t, 4> rng{};
    std::vector<double> swapped;    // how often, after the warmup
    std::vector<double> log_ratio;  // of each step, iteration by iteration
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  int steps() const { return static_cast<int>(states_.size()); }
  void exchange_neighbours();
  void record();

  Prior prior_;
  LadderSettings settings_;
  Data data_;
  Rng rng_;
  std::vector<Rung> rungs_;  // the last of them, 1, has no state
  std::vector<State> states_;
  std::vector<Sweep> sweeps_;
  std::vector<double> swapped_, log_ratio_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
