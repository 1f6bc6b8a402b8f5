#pragma once

#include "moves.hpp"
#include "scale_proposals.hpp"
#include "truncated.hpp"

namespace kernelbayes {
namespace bark {

// Moves of the truncation approximation that leave pi(theta) p(y | theta)^power
// invariant, theta with the coefficients. Each tries once; true if the state
// changed. Those of the scales are in moves.hpp.

/// A kernel is born at a uniform location or dies, uniformly chosen.
bool birth_death_move(TruncatedState& state, double power, Rng& rng);

/// A kernel goes to a uniform location; or to a row that is like its centre.
bool relocate_move(TruncatedState& state, double power, Rng& rng);
bool local_move(TruncatedState& state, double power, Rng& rng);

/// Coefficient j: one that the data have a say in; a step of log(|beta| / eps),
/// reflected at 0; the other sign.
bool coefficient_move(TruncatedState& state, int j, double power, Rng& rng);
bool walk_move(TruncatedState& state, int j, double power, double step,
               Rng& rng);
bool sign_move(TruncatedState& state, int j, double power, Rng& rng);

/// The coefficients of `size` kernels at once, of all where there are fewer.
bool ellipse_move(TruncatedState& state, int size, double power, Rng& rng);

/// Changes scales and inclusion if that is accepted, as that of a State. With
/// probability 1/2 coefficients follow, so that f hardly changes.
bool try_scales(TruncatedState& state, const ScaleChange& change,
                double log_prior, double power, Rng& rng);

bool change_scales(TruncatedState& state, double power, Rng& rng,
                   const ProposeScales& propose);

/// A uniform choice among the included predictors.
int choose_included(const TruncatedState& state, Rng& rng);

/// The noise precision given all else.
void noise_gibbs(TruncatedState& state, double power, Rng& rng);

/// Probit models only: latent responses given f; all coefficients by one
/// factor, latent responses drawn afresh.
void draw_latent(TruncatedState& state, Rng& rng);
bool magnitude_move(TruncatedState& state, double step, Rng& rng);

/// log p(y | f) of a probit model whose f has another amplitude.
double probit_log_likelihood(const TruncatedState& state, double amplitude);

/// All of theta from its prior; where chains start.
void draw_prior(TruncatedState& state, Rng& rng);
void draw_start(TruncatedState& state, Rng& rng);

/// A coefficient from the two-sided Pareto law, and the log of its density,
/// (B65).
double draw_pareto(const Prior& prior, Rng& rng);
double log_pareto(const Prior& prior, double beta);

/// What the data say, to a power.
inline Information operator*(double power, const Information& information) {
  return {power * information.precision, power * information.score};
}

/// The normal law N(mean, (LL')^-1) of coefficients b whose density is
/// proportional to exp(-precision |y - K b|^2 / 2 - spread |b|^2 / 2). It must
/// not be used if it could not be computed well.
struct NormalLaw {
  Eigen::VectorXd mean;
  Eigen::MatrixXd lower;
  bool ok = true;
};
NormalLaw make_normal_law(const Eigen::MatrixXd& columns,
                          const Eigen::VectorXd& y, double precision,
                          double spread);

/// `size` of 0, ..., m - 1 (all, if they are fewer), each set as likely.
std::vector<int> choose_several(int m, int size, Rng& rng);

/// 1 / |beta|^2 of a draw of the prior, which keeps nearly equal columns apart.
double draw_spread(const Prior& prior, Rng& rng);

/// Draws of a coefficient: half of them from the prior, half from the normal
/// law that the likelihood has alone, truncated to |beta| > eps. Where that is
/// narrow the Pareto density hardly varies over it, and where it is wide the
/// prior does: no weight is more than twice the integral of prior and
/// likelihood that it estimates times what the density varies.
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

}  // namespace bark
}  // namespace kernelbayes
