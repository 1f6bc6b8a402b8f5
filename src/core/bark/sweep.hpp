#pragma once

#include <array>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

/// The moves of a sweep, in the order of their counts.
enum MoveKind {
  kBirthDeath, kRelocate, kLocal, kCopies, kRescale, kVarphi, kScaleAll, kScaleOne,
  kScalePair, kFlip, kSwap, kNoise, kTemperature, kMoveKinds
};
const char* move_name(int kind);

struct Counts {
  std::array<double, kMoveKinds> tried{}, accepted{};
  void note(MoveKind kind, bool moved) {
    ++tried[kind];
    accepted[kind] += moved;
  }
};

/// Lengths of the steps that have one, on the log scale, adapted towards the
/// best acceptance rate of a step in one dimension.
struct Steps {
  enum Kind { kAll, kOne, kNoise, kKinds };
  std::array<double, kKinds> log_step{{-0.5, 0, -1}};

  double length(Kind kind) const { return std::exp(log_step[kind]); }
  /// `time` counts sweeps; the gain falls with it.
  void adapt(Kind kind, bool accepted, int time) {
    constexpr double kTarget = 0.44;
    log_step[kind] += ((accepted ? 1 : 0) - kTarget) / std::sqrt(time + 1.0);
  }
};

/// Every move, several times those that cost little.
class Sweep {
 public:
  /// Adapts its steps while time < adapt_until.
  void run(State& state, double power, int time, int adapt_until,
           Counts& counts, Rng& rng);

  const Steps& steps() const { return steps_; }
  void set_steps(const Steps& steps) { steps_ = steps; }

 private:
  Steps steps_;
};

}  // namespace bark
}  // namespace kernelbayes
