#pragma once

#include "core/bark/chain/level.hpp"
#include "truncated_sweep.hpp"

namespace kernelbayes::bark {

/// For each draw the m locations that have a kernel, with the number of kernels
/// and the sum of their coefficients, which determines f. log_likelihood is
/// that of the data given the coefficients.
struct TruncatedDraws {
  explicit TruncatedDraws(const Model& model) : model(&model) {}
  void transfer(Archive& archive);

  const Model* model;
  KernelDraws kernels;
  std::vector<double> noise, log_likelihood;
};

/// A state of the truncation approximation at a rung, the counterpart of Level;
/// stepping stones use the likelihood given the coefficients.
class TruncatedLevel {
 public:
  using Model = bark::Model;
  using Draws = TruncatedDraws;
  using Counts = TruncatedCounts;

  TruncatedLevel(const Model& model, int index, Rng& rng);

  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  double observe() const;
  void transfer(Archive& archive);
  friend bool exchange(TruncatedLevel& one, TruncatedLevel& other, Rng& rng);

 private:
  const Rung& rung() const { return model_->rungs[index_]; }
  void record_kernels(KernelDraws& draws) const;

  const Model* model_;
  int index_;
  TruncatedState state_;
  TruncatedSweep sweep_;
};

}  // namespace kernelbayes::bark
