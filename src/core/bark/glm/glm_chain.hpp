#pragma once

#include "core/bark/chain/level.hpp"
#include "glm_state.hpp"

namespace kernelbayes::bark {

/// All moves in turn, those of one kernel `rounds` times.
void glm_sweep(GlmState& state, int rounds, Counts& counts, Rng& rng);

/// The chain of families without a latent normal form. The draws have the
/// coefficients of kernels, and `log_likelihood` given all else.
class GlmChain {
 public:
  using Draws = bark::Draws;
  static constexpr bool kRungs = false;

  GlmChain(const Model& model, const Rung&)
      : model_(&model), state_(model.data, model.prior) {}
  // Without kernels f is the offset: nothing overflows, and births are
  // informed.
  void draw_start(Rng&) {}
  void draw_prior(Rng& rng) { state_.draw_prior(rng); }
  void sweep(const Turn& turn, const Rung&, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  void transfer(Archive& archive) { state_.transfer(archive); }

 private:
  const Model* model_;
  GlmState state_;
};

}  // namespace kernelbayes::bark
