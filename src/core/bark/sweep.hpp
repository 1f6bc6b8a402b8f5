#pragma once

#include <array>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

/// The moves of a sweep, in the order of their counts.
enum MoveKind {
  kBirthDeath, kRelocate, kCopies, kRescale, kVarphi, kScaleAll, kScaleOne,
  kScalePair, kFlip, kSwap, kNoise, kMagnitude, kTemperature, kMoveKinds
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
  enum Kind { kAll, kOne, kNoise, kMagnitude, kKinds };
  std::array<double, kKinds> log_step{{-0.5, 0, -1, -1}};

  double length(Kind kind) const { return std::exp(log_step[kind]); }
  /// `time` counts sweeps; the gain falls with it.
  void adapt(Kind kind, bool accepted, int time) {
    constexpr double kTarget = 0.44;
    log_step[kind] += ((accepted ? 1 : 0) - kTarget) / std::sqrt(time + 1.0);
  }
};

/// A place between prior and posterior: the likelihood raised to a power, or,
/// for latent responses, the amplitude of the function lowered, which leaves a
/// normalised model of the responses.
struct Rung {
  double power = 1, amplitude = 1;
  static Rung at(double t, Family family) {
    return family == Family::kProbit ? Rung{1, t} : Rung{t, 1};
  }
};

/// log of the likelihood of a state at a rung, to the rung's power.
double tempered(const State& state, const Rung& rung);

/// Exchanges the states of two rungs if that is accepted.
bool exchange(State& one, const Rung& at_one, State& other,
              const Rung& at_other, Rng& rng);

/// Every move, several times those that cost little. The state's amplitude is
/// the rung's.
class Sweep {
 public:
  /// Adapts its steps while time < adapt_until.
  void run(State& state, const Rung& rung, int time, int adapt_until,
           Counts& counts, Rng& rng);

  const Steps& steps() const { return steps_; }
  void set_steps(const Steps& steps) { steps_ = steps; }

 private:
  Steps steps_;
};

}  // namespace bark
}  // namespace kernelbayes
