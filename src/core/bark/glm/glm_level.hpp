#pragma once

#include "core/bark/chain/level.hpp"
#include "glm_state.hpp"

namespace kernelbayes::bark {

/// All moves in turn, those of one kernel `rounds` times.
void glm_sweep(GlmState& state, int rounds, Counts& counts, Rng& rng);

/// Draws of the kernels with their coefficients, those of the linear terms, and
/// the family's parameters, or the cut points between ordered classes.
/// `log_likelihood` is that given all of them.
struct GlmDraws {
  explicit GlmDraws(const Model& model) : model(&model) {}
  void transfer(Archive& archive);

  const Model* model;
  KernelDraws kernels;
  TermDraws terms;
  std::vector<double> noise, log_likelihood, parameters, cuts;
};

/// The counterpart of Level for families without a latent normal form. There
/// are no rungs.
class GlmLevel {
 public:
  using Model = bark::Model;
  using Draws = GlmDraws;
  using Counts = bark::Counts;

  GlmLevel(const Model& model, int index, Rng& rng);
  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  double observe() const;
  void transfer(Archive& archive) { state_.transfer(archive); }
  friend bool exchange(GlmLevel&, GlmLevel&, Rng&) { return false; }

 private:
  const Model* model_;
  GlmState state_;
};

}  // namespace kernelbayes::bark
