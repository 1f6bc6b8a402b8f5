#pragma once

#include "core/bark/chain/sweep.hpp"
#include "truncated_moves.hpp"

namespace kernelbayes::bark {

/// The moves of a sweep of the truncation approximation, in the order of their
/// counts.
enum TruncatedMove {
  kTruncatedBirthDeath,
  kTruncatedRelocate,
  kTruncatedLocal,
  kCoefficient,
  kWalk,
  kSign,
  kEllipse,
  kTruncatedScaleAll,
  kTruncatedScaleOne,
  kTruncatedScaleRefresh,
  kTruncatedScalePair,
  kTruncatedFlip,
  kTruncatedSwap,
  kTruncatedMagnitude,
  kTruncatedTemperature,
  kTruncatedMoves
};
const char* truncated_move_name(int kind);

struct TruncatedCounts : MoveCounts<TruncatedMove, kTruncatedMoves> {
  TruncatedCounts() = default;
  explicit TruncatedCounts(const Model&) {}
  void note_exchange(bool exchanged) { note(kTruncatedTemperature, exchanged); }
  void transfer(Archive& archive) {
    MoveCounts::transfer(archive, &truncated_move_name);
  }
};

/// log of the likelihood of a state at a rung, raised to the rung's power: of
/// the data given the coefficients, latent responses integrated out.
double tempered(const TruncatedState& state, const Rung& rung);

/// Proposes to exchange the states of two rungs, (B61), with new latent
/// responses.
bool exchange(TruncatedState& one, const Rung& at_one, TruncatedState& other,
              const Rung& at_other, Rng& rng);

/// All moves in turn, starting with a refresh. How often moves that change the
/// number of kernels are tried does not depend on that number.
class TruncatedSweep {
 public:
  TruncatedSweep(const Prior& prior, int p);
  void full(TruncatedState& state, double power, bool adapt,
            TruncatedCounts& counts, Rng& rng);

  void transfer(Archive& archive) { steps_.transfer(archive); }

 private:
  void kernels(TruncatedState& state, double power, TruncatedCounts& counts,
               Rng& rng);
  void coefficients(TruncatedState& state, double power,
                    TruncatedCounts& counts, Rng& rng);
  void scales(TruncatedState& state, double power, bool adapt,
              TruncatedCounts& counts, Rng& rng);
  void scale_one(TruncatedState& state, double power, bool adapt,
                 TruncatedCounts& counts, Rng& rng);
  void latent(TruncatedState& state, bool adapt, TruncatedCounts& counts,
              Rng& rng);

  int kernels_;  // about as many as expected
  int scales_;   // moves of one scale
  Steps steps_;  // of the noise: not used
};

}  // namespace kernelbayes::bark
