#pragma once

#include <memory>

#include "glm_state.hpp"
#include "level.hpp"

namespace kernelbayes {
namespace bark {

/// Noise that varies with x: y_i ~ N(f_i, exp(g_i) / w_i), f and g sums of
/// kernels, each a GlmState given the other; g has an intercept, (B130). See
/// derivations/bark.md, section 6.7.
class VaryingState {
 public:
  VaryingState(const Data& data, const Prior& prior, const Varying& noise);

  const GlmState& mean() const { return *mean_; }
  const GlmState& noise() const { return *noise_; }
  /// log p(y | f, g).
  double log_likelihood() const;
  /// The mean of exp(g) over the rows.
  double mean_variance() const;

  void sweep(Counts& counts, Rng& rng);
  /// Everything from the prior.
  void draw_prior(Rng& rng);
  Eigen::VectorXd simulate(Rng& rng) const;
  void set_response(Eigen::VectorXd y);
  void transfer(Archive& archive);

 private:
  Eigen::VectorXd bounded() const;
  void tell_noise();
  void tell_mean();

  // The states refer to their data.
  std::unique_ptr<Data> mean_data_, noise_data_;
  std::unique_ptr<GlmState> mean_, noise_;
};

/// Draws of both sums of kernels with their coefficients, of the terms beside
/// those of f, and of the intercept of g. `noise` is 1 over the mean of exp(g).
struct VaryingDraws {
  explicit VaryingDraws(const Model& model) : model(&model) {}
  void transfer(Archive& archive);

  const Model* model;
  KernelDraws kernels, noise_kernels;
  TermDraws terms;
  std::vector<double> noise, log_likelihood, intercept;
};

/// The counterpart of Level for noise that varies. There are no rungs.
class VaryingLevel {
 public:
  using Model = bark::Model;
  using Draws = VaryingDraws;
  using Counts = bark::Counts;

  VaryingLevel(const Model& model, int index, Rng& rng);
  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  double observe() const;
  void transfer(Archive& archive) { state_.transfer(archive); }
  friend bool exchange(VaryingLevel&, VaryingLevel&, Rng&) { return false; }

 private:
  const Model* model_;
  VaryingState state_;
};

}  // namespace bark
}  // namespace kernelbayes
