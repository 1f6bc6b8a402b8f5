#pragma once

#include "core/bark/chain/level.hpp"
#include "truncated_moves.hpp"

namespace kernelbayes::bark {

/// As of a State. The likelihood is that of the data given the coefficients,
/// latent responses integrated out; at a rung these are drawn anew.
double tempered(const TruncatedState& state, const Rung& rung);
void enter(TruncatedState& state, const Rung& rung, Rng& rng);

/// All moves in turn, starting with a refresh. How often moves that change the
/// number of kernels are tried does not depend on that number.
class TruncatedSweep {
 public:
  TruncatedSweep(const Prior& prior, int p);
  void full(TruncatedState& state, double power, bool adapt,
            Counts& counts, Rng& rng);

  void transfer(Archive& archive) { steps_.transfer(archive); }

 private:
  void kernels(TruncatedState& state, double power, Counts& counts,
               Rng& rng);
  void coefficients(TruncatedState& state, double power,
                    Counts& counts, Rng& rng);
  void latent(TruncatedState& state, bool adapt, Counts& counts,
              Rng& rng);

  int kernels_;  // about as many as expected
  int scales_;   // moves of one scale
  Steps steps_;  // of the noise: not used
};

/// The chain of the truncation approximation. A draw has the m locations with a
/// kernel, the number of kernels there, and the sum of their coefficients,
/// which determines f.
class TruncatedChain {
 public:
  using Draws = bark::Draws;
  static constexpr bool kRungs = true;

  TruncatedChain(const Model& model, const Rung& rung);
  void draw_start(Rng& rng) { bark::draw_start(state_, rng); }
  void draw_prior(Rng& rng) { bark::draw_prior(state_, rng); }
  void sweep(const Turn& turn, const Rung& rung, Counts& counts, Rng& rng);
  void lowest(const Turn& turn, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  void transfer(Archive& archive);
  const TruncatedState& state() const { return state_; }
  TruncatedState& state() { return state_; }

 private:
  TruncatedState state_;
  TruncatedSweep sweep_;
};

}  // namespace kernelbayes::bark
