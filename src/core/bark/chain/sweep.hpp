#pragma once

#include "core/bark/coefficients/open.hpp"
#include "core/bark/moves/moves.hpp"
#include "core/move_counts.hpp"

namespace kernelbayes::bark {

/// The moves of a sweep, in the order of their counts.
enum MoveKind {
  kBirthDeath,
  kRelocate,
  kLocal,
  kGather,
  kCopies,
  kRescale,
  kVarphi,
  kCoefficient,  // this and the next three: of the truncation approximation
  kWalk,
  kSign,
  kEllipse,
  kScaleAll,
  kScaleOne,
  kScaleRefresh,
  kScalePair,
  kFlip,
  kSwap,
  kNoise,
  kMagnitude,
  kTemperature,
  kCuts,
  kRotate,
  kRedirect,
  kPoolShift,
  kPoolStretch,
  kCluster,
  kClusterLeave,
  kOpenCoefficient,
  kOpenBirthDeath,
  kOpenRelocate,
  kOpenLocal,
  kOpenScale,
  kOpenFlip,
  kTrajectory,
  kCoefficientEllipse,
  kMoveKinds
};
const char* move_name(int kind);

struct Model;

/// How often a sweep tries each move of one kernel.
int kernel_rounds(const Prior& prior);

/// Step lengths on the log scale, adapted towards the best acceptance rate in
/// one dimension.
struct Steps {
  /// A step and how often it was adapted.
  struct One {
    double log_length;
    int times = 0;
    double length() const { return std::exp(log_length); }
    void adapt(bool accepted) {
      constexpr double kTarget = 0.44;
      adapt(accepted ? 1 : 0, kTarget);
    }
    void adapt(double probability, double target) {
      log_length += (probability - target) / std::sqrt(++times);
    }
  };
  One all{-0.5}, noise{-1}, magnitude{-1}, trajectory{-2};
  std::vector<One> scales;      // of each predictor
  std::vector<One> cuts;        // of each gap between cut points
  std::vector<One> directions;  // angles

  void transfer(Archive& archive);
  static void transfer(Archive& archive, const char* name,
                       std::vector<One>& steps);
};

/// Of the moves that a model has.
struct Counts : MoveCounts<MoveKind, kMoveKinds> {
  Counts() = default;
  explicit Counts(const Model& model);
  using MoveCounts::note;
  /// A move with a step, which adapts in the warmup.
  void note(MoveKind kind, bool moved, Steps::One& step, bool adapt) {
    note(kind, moved);
    if (adapt) step.adapt(moved);
  }
  void note_exchange(bool exchanged) { note(kTemperature, exchanged); }
  void transfer(Archive& archive) { MoveCounts::transfer(archive, &move_name); }
};

/// A point between prior and posterior: the likelihood raised to a power or,
/// for latent responses and row weights, a reduced amplitude of the function,
/// which leaves a normalised model of the responses, (B60), so that they are
/// drawn in the same way at all rungs.
struct Rung {
  double power = 1, amplitude = 1;
  static Rung at(double t, const Family& family) {
    return family.form == Family::kNormal ? Rung{t, 1} : Rung{1, t};
  }
};

/// log of the likelihood of a state at a rung, raised to the rung's power.
double tempered(const State& state, const Rung& rung);

/// A state that comes from another rung.
void enter(State& state, const Rung& rung, Rng& rng);

/// Proposes to exchange the states of two rungs: (B61).
template <class S>
bool exchange(S& one, const Rung& at_one, S& other, const Rung& at_other,
              Rng& rng) {
  const double log_ratio = tempered(one, at_other) + tempered(other, at_one) -
                           tempered(one, at_one) - tempered(other, at_other);
  if (!accept(log_ratio, rng)) return false;
  std::swap(one, other);
  enter(one, at_one, rng);
  enter(other, at_other, rng);
  return true;
}

/// Of scales of all kernels, or of one: the moves without a length.
template <class S>
void scales_without_step(S& state, double power, Counts& counts, Rng& rng) {
  if (!state.prior().equal()) {
    counts.note(kScaleRefresh, scale_refresh_move(state, power, rng));
    counts.note(kScalePair, scale_pair_move(state, power, rng));
  }
  if (!state.prior().selects()) return;
  counts.note(kFlip, flip_move(state, power, rng));
  counts.note(kSwap, swap_move(state, power, rng));
}

/// Scales of all kernels of a State or a TruncatedState: all by one factor, and
/// one of them.
template <class S>
void scale_all(S& state, double power, bool adapt, Steps& steps, Counts& counts,
               Rng& rng) {
  const bool moved = scale_all_move(state, power, steps.all.length(), rng);
  counts.note(kScaleAll, moved, steps.all, adapt);
}

template <class S>
void scale_one(S& state, double power, bool adapt, Steps& steps, Counts& counts,
               Rng& rng) {
  if (state.n_included() == 0) return;
  const int l = choose_included(state, rng);
  Steps::One& step = steps.scales[l];
  const bool moved = scale_one_move(state, l, power, step.length(), rng);
  counts.note(kScaleOne, moved, step, adapt);
}

/// All of their moves, those of one scale `times` times.
template <class S>
void shared_scales(S& state, double power, int times, bool adapt, Steps& steps,
                   Counts& counts, Rng& rng) {
  scale_all(state, power, adapt, steps, counts, rng);
  for (int i = 0; i < times; ++i) {
    scale_one(state, power, adapt, steps, counts, rng);
  }
  scales_without_step(state, power, counts, rng);
}

/// Does a sweep move kernels given the coefficients of the others, see Backfit?
/// With many rows, for numeric responses whose kernels have their own scales.
bool backfits(const Data& data, const Prior& prior);
/// Not where the likelihood is tempered.
bool backfits(const State& state, double power);

class Backfit;

/// Sequences of moves, for states whose amplitude is the rung's. How often each
/// is tried must not depend on the state: otherwise a mixture of moves that
/// leave a distribution invariant does not.
class Sweep {
 public:
  Sweep(const Prior& prior, const Data& data);

  /// Every move, cheap ones several times. Starts with a refresh.
  void full(State& state, double power, bool adapt, Counts& counts, Rng& rng);

  /// One birth, death or varphi, the noise, and with probability 0.2 a scale
  /// (with selection also a flip).
  void single(State& state, double power, bool adapt, Counts& counts, Rng& rng);

  /// A state at rung 0, where the response contains no information about the
  /// kernels: they are drawn from the prior, and the rest continues from its
  /// current values.
  void lowest(State& state, bool adapt, Rng& rng);
  /// The part of both on kernels and scales: the response and the noise stay,
  /// unless it returns true: the noise and row weights were drawn, too.
  bool full_kernels(State& state, double power, bool adapt, Counts& counts,
                    Rng& rng);
  void single_kernels(State& state, double power, bool adapt, Counts& counts,
                      Rng& rng);

  /// For classes, with alpha = 1: moves of the kernels with their coefficients,
  /// latent responses integrated out, and new latent responses.
  void open(State& state, Intervals rows, bool adapt, Counts& counts, Rng& rng);

  void transfer(Archive& archive);

 private:
  static constexpr double kVarphiStep = 1.5;

  void kernels(State& state, double power, Counts& counts, Rng& rng);
  bool backfit(State& state, bool adapt, Counts& counts, Rng& rng);
  static int backfit_rounds(int kernels);
  void give(Backfit& fit, State& state, Rng& rng);
  void gather(State& state, double power, Counts& counts, Rng& rng);
  void kernels(OpenState& open, Counts& counts, Rng& rng);
  void scales(OpenState& open, bool flip, Counts& counts, Rng& rng);
  void trajectory(OpenState& open, bool adapt, Counts& counts, Rng& rng);
  void own_scales(State& state, double power, Counts& counts, Rng& rng);
  void directions(State& state, double power, bool adapt, Counts& counts,
                  Rng& rng);
  void rotate(State& state, double power, bool adapt, Counts& counts, Rng& rng);
  void noise(State& state, double power, bool adapt, Counts& counts, Rng& rng);
  void terms(State& state, double power, bool adapt, bool full, Counts& counts,
             Rng& rng);
  void latent(State& state, bool adapt, Counts& counts, Rng& rng);
  void cuts(State& state, bool adapt, Counts& counts, Rng& rng);
  void response(State& state, double power, bool adapt, Counts& counts,
                Rng& rng);

  int kernels_;  // about as many as expected
  int scales_;   // moves of one scale
  int turns_;    // moves of one direction
  /// Rounds of a Backfit's moves, from the number of kernels in the warmup; 0
  /// before the first sweep.
  int rounds_ = 0;
  Steps steps_;
};

/// Moves the kernels of a state with many rows to where sweeps of a part of the
/// rows lead.
void start_on_subset(State& state, Rng& rng);

}  // namespace kernelbayes::bark
