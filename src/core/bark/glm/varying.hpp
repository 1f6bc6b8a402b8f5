#pragma once

#include <memory>

#include "core/bark/chain/level.hpp"
#include "glm_state.hpp"

namespace kernelbayes::bark {

/// Noise that varies with x: y_i ~ N(f_i, exp(g_i) / (w_i omega_i)), (B130),
/// omega_i = 1 or, for Student's noise, Ga(df / 2, df / 2). f is that of a
/// State with row weights, (B131), its coefficients integrated out, and g a sum
/// of kernels with an intercept given residuals, omega integrated out, a
/// GlmState. See derivations/bark.md, section 6.7.
class VaryingState {
 public:
  VaryingState(const Data& data, const Prior& prior, const Varying& noise);

  const State& mean() const { return *mean_; }
  const GlmState& noise() const { return *noise_; }
  const Eigen::VectorXd& omega() const { return omega_; }
  /// log p(y | f, g), from sqrt(w) (y - f).
  double log_likelihood(const Eigen::VectorXd& residuals) const;
  /// The mean of exp(g) over the rows.
  double mean_variance() const;

  void draw_start(Rng& rng);
  /// Row weights of the mean follow once responses are set.
  void draw_prior(Rng& rng);
  /// `first`: of a chain.
  void sweep(bool first, bool adapt, Counts& counts, Rng& rng);
  /// The same without the likelihood.
  void sweep_prior(bool adapt, Counts& counts, Rng& rng);
  /// g given f, which is drawn and dropped.
  void move_noise(Rng& rng);
  void set_response(Eigen::VectorXd y);
  void transfer(Archive& archive);

 private:
  Eigen::VectorXd bounded() const;
  Eigen::VectorXd row_weights() const;
  void draw_omega(const Eigen::VectorXd& residuals, Rng& rng);
  void tell_mean() { mean_->set_row_weights(row_weights()); }

  double level_;  // of g, whose exponential is the variance of row weight 1
  // The states refer to these.
  std::unique_ptr<Prior> prior_, noise_prior_;
  std::unique_ptr<Data> mean_data_, noise_data_;
  std::unique_ptr<State> mean_;
  std::unique_ptr<GlmState> noise_;
  Sweep sweep_;
  Eigen::VectorXd omega_;
};

/// The chain of noise that varies.
class VaryingChain {
 public:
  using Draws = bark::Draws;
  static constexpr bool kRungs = false;

  VaryingChain(const Model& model, const Rung&)
      : model_(&model), state_(model.data, model.prior, model.varying) {}
  void draw_start(Rng& rng) { state_.draw_start(rng); }
  void draw_prior(Rng& rng) { state_.draw_prior(rng); }
  void sweep(const Turn& turn, const Rung&, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  void transfer(Archive& archive) { state_.transfer(archive); }

 private:
  const Model* model_;
  VaryingState state_;
};

}  // namespace kernelbayes::bark
