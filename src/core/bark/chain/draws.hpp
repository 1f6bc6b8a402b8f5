#pragma once

#include "core/archive.hpp"
#include "core/bark/state/state.hpp"

namespace kernelbayes::bark {

class GlmState;

/// Kept draws of a sum of kernels, one after another: the m slots with a draw
/// of their coefficients, and the factor L of phi G + diag(1 / v) with z = L^-1
/// phi K'Wy, from which the mean and variance of f given all else follow. In a
/// model of classes y is latent and phi is 1; W holds Student's row weights,
/// which are not kept.
struct KernelDraws {
  std::vector<int> m, location, copies, included;
  std::vector<double> log_lambda, variance, beta, factor, z;
  std::vector<double> directions;  // U, column by column
  // Of kernel-specific shapes, p numbers per slot (0 for the intercept).
  std::vector<double> centre, own_log_lambda;
  std::vector<int> own_included;

  /// Adds the kernels of a state with a draw of their coefficients, and returns
  /// the draw.
  Eigen::VectorXd record(const State& state, bool prior_only, Rng& rng);
  /// The same of a state with its coefficients, without factor and z.
  void record(const GlmState& state);
  void transfer(Archive& archive, const Prior& prior);
};

/// Kept draws of the terms beside a sum of kernels: gamma, slopes apart, b of
/// all factors, and their covariances, draw by draw, and the mean of f, slopes
/// included, over the rows.
struct TermDraws {
  std::vector<double> gamma, effects, covariances, level, slopes, slope_sd;

  /// Adds a draw of the terms given that of the coefficients of kernels, and
  /// returns sqrt(w) (y - terms - f).
  Eigen::VectorXd record(const State& state, const Eigen::VectorXd& beta,
                         bool prior_only, Rng& rng);
  /// Adds coefficients and covariances; `kernels`: the mean of those.
  void add(const TermData& data, const TermValues& values, double kernels);
  void transfer(Archive& archive);
};

}  // namespace kernelbayes::bark
