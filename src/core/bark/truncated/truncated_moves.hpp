#pragma once

#include "core/bark/moves/moves.hpp"
#include "core/bark/scales/scales.hpp"
#include "truncated.hpp"

namespace kernelbayes::bark {

// Moves of the truncation approximation that leave pi(theta) p(y | theta)^power
// invariant, where theta includes the coefficients. Each tries once; true if
// the state changed. Those of the scales are in moves.hpp.

/// Birth of a kernel at a uniform location, or death of a uniformly chosen one.
bool birth_death_move(TruncatedState& state, double power, Rng& rng);

/// A kernel moves to a uniform location, or to a row that is similar to its
/// centre.
bool relocate_move(TruncatedState& state, double power, Rng& rng);
bool local_move(TruncatedState& state, double power, Rng& rng);

/// Coefficient j: a data-informed draw; a step of log(|beta| / eps), reflected
/// at 0; a change of sign.
bool coefficient_move(TruncatedState& state, int j, double power, Rng& rng);
bool walk_move(TruncatedState& state, int j, double power, double step,
               Rng& rng);
bool sign_move(TruncatedState& state, int j, double power, Rng& rng);

/// The coefficients of `size` kernels at once, or of all if there are fewer.
bool ellipse_move(TruncatedState& state, int size, double power, Rng& rng);

/// Proposes to change scales and inclusion, as for a State. With probability
/// 1/2 coefficients are adjusted so that f hardly changes.
bool try_scales(TruncatedState& state, const ScaleChange& change,
                double log_prior, double power, Rng& rng);

bool change_scales(TruncatedState& state, double power, Rng& rng,
                   const ProposeScales& propose);

/// A uniformly chosen included predictor.
int choose_included(const TruncatedState& state, Rng& rng);

/// The noise precision given all else.
void noise_gibbs(TruncatedState& state, double power, Rng& rng);

/// Probit models only: latent responses given f; all coefficients by one
/// factor, with new latent responses.
void draw_latent(TruncatedState& state, Rng& rng);
bool magnitude_move(TruncatedState& state, double step, Rng& rng);

/// log p(y | f) of a probit model with another amplitude.
double probit_log_likelihood(const TruncatedState& state, double amplitude);

/// All of theta from its prior; the start of chains.
void draw_prior(TruncatedState& state, Rng& rng);
void draw_start(TruncatedState& state, Rng& rng);

/// A coefficient from the two-sided Pareto distribution, and its log density,
/// (B65).
double draw_pareto(const Prior& prior, Rng& rng);
double log_pareto(const Prior& prior, double beta);

/// The information of the data, raised to a power.
inline Information operator*(double power, const Information& information) {
  return {power * information.precision, power * information.score};
}

/// The normal distribution N(mean, (LL')^-1) of coefficients b with density
/// proportional to exp(-precision |y - K b|^2 / 2 - spread |b|^2 / 2). It must
/// not be used if it could not be computed accurately.
struct NormalLaw {
  Eigen::VectorXd mean;
  Eigen::MatrixXd lower;
  bool ok = true;
};
NormalLaw make_normal_law(const Eigen::MatrixXd& columns,
                          const Eigen::VectorXd& y, double precision,
                          double spread);

/// `size` of 0, ..., m - 1 (all, if there are fewer), each set equally likely.
std::vector<int> choose_several(int m, int size, Rng& rng);

/// 1 / |beta|^2 for a draw from the prior, which regularises nearly equal
/// columns.
double draw_spread(const Prior& prior, Rng& rng);

/// Draws of a coefficient: half from the prior, half from the normal
/// distribution proportional to the likelihood, truncated to |beta| > eps. If
/// that is narrow, the Pareto density hardly varies over it, and if it is wide,
/// the prior covers it: no weight is more than twice the integral of prior and
/// likelihood that it estimates, times the variation of the density.
class CoefficientProposal {
 public:
  CoefficientProposal(const Prior& prior, const Information& information);
  double draw(Rng& rng) const;
  /// log of prior times likelihood, against beta = 0, over proposal density:
  /// (B67).
  double log_weight(double beta) const;

 private:
  const Prior* prior_;
  Information information_;
  bool informed_;
  double mean_ = 0, sd_ = 0, log_above_ = 0, log_below_ = 0;
};

}  // namespace kernelbayes::bark
