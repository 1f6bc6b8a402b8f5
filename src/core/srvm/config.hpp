#pragma once

#include <cmath>
#include <kernelbayes/kernel.hpp>
#include <kernelbayes/rng.hpp>
#include <kernelbayes/smc.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "priors.hpp"
#include "memory.hpp"
#include "pool.hpp"

namespace kernelbayes::srvm {

/// Inverse gamma (density proportional to v^(-shape-1) exp(-scale/v)) truncated
/// to [lower, upper], or a fixed value. The bounds keep the Gram form of the
/// likelihood within double precision; if they contain nearly all of the mass
/// they change nothing. Shape and scale 0 are the improper limit, which cannot
/// be sampled, so the variance starts at `value` and stays there if there are
/// no squares.
struct VariancePrior {
  bool fixed = false;
  double value = 1;  // if fixed, or the start
  double shape = 1, scale = 1;
  double lower = 0, upper = std::numeric_limits<double>::infinity();

  /// Of the logarithm of the variance, up to a constant: as in (S18).
  double log_density(double v) const {
    if (v < lower || v > upper) return -HUGE_VAL;
    return fixed ? 0 : -shape * std::log(v) - scale / v;
  }

  double draw(Rng& rng) const { return draw_posterior(0, 0, value, rng); }

  /// A draw given n normal variables with this variance, currently `now`, whose
  /// squares sum to `sum`.
  double draw_posterior(double n, double sum, double now, Rng& rng) const {
    if (fixed) return value;
    if (shape + n == 0) return now;
    double v = now;
    for (int i = 0; i < kTries; ++i) {
      v = rng.inverse_gamma(shape + n / 2, scale + sum / 2);
      if (v >= lower && v <= upper) return v;
    }
    // The little mass inside lies at the bound.
    return v < lower ? lower : upper;
  }

 private:
  static constexpr int kTries = 1000;
};

/// The distribution of a response given f: normal; Student's t, as normal with
/// variance noise / omega, omega ~ Gamma(df / 2, df / 2); or the sign of f plus
/// a standard normal variable. The last two have a latent variable per row and
/// particle.
enum class Response { kNormal, kStudent, kProbit };

/// The model of Vermaak, Godsill and Doucet (2003), (S1): y = beta_0 +
/// sum_{j in S} beta_j K(x, x_j) + noise, beta ~ N(0, coef I), with the
/// prior of the set S in `centres`. In the scaled form beta ~ N(0, noise coef
/// I): `coef` is then a ratio and the noise variance is integrated out. With
/// several kernels a candidate is a pair of x_j and a kernel.
struct Model {
  std::vector<Kernel> kernels{Kernel::constant(1)};
  CentrePrior centres;
  VariancePrior noise, coef;
  FixedColumns fixed_columns;
  bool scaled = false;
  Response response = Response::kNormal;
  /// Of Student's t: known, or equally probable values.
  std::vector<double> df{0};
  double shift = 0;  // subtracted from y for accuracy; not part of the model

  /// One per predictor that are learned, in place of `kernels`.
  std::optional<RadialKernel> learned;
  ScalePrior scales;
  /// Degrees of freedom of the coefficients of centres, with such kernels only:
  /// (S66).
  double coef_df = std::numeric_limits<double>::infinity();
  const Arithmetic* arithmetic = &Arithmetic::best();

  bool learns_scales() const { return learned.has_value(); }
  bool has_spreads() const { return std::isfinite(coef_df); }
  /// Within the bounds the likelihood is computed accurately.
  VariancePrior spread() const {
    VariancePrior out;
    out.shape = out.scale = coef_df / 2;
    out.lower = 1e-6;
    out.upper = 1e6;
    return out;
  }
  OwnKernels own_kernels(const Eigen::MatrixXd& x) const {
    return {&x, *learned, arithmetic};
  }
  int fixed() const { return fixed_columns.size(); }
  /// The most columns that a set of these candidates has.
  int most_columns(int candidates) const {
    return fixed() + centres.limit(candidates);
  }
  bool learns_df() const { return df.size() > 1; }
  double draw_df(Rng& rng) const {
    const auto count = static_cast<std::uint32_t>(df.size());
    return learns_df() ? df[rng.index(count)] : df.front();
  }
  bool latent() const { return response != Response::kNormal; }
};

/// How a step extends the sets of centres; see adapted.hpp, birth_death.hpp.
enum class Proposal { kAdapted, kBirthDeath, kPaper };

struct Config {
  Model model;
  Memory memory;
  int past = 0;  // rows taken in that have been dropped since
  SmcSettings smc;
  Proposal proposal = Proposal::kAdapted;
  int n_moves = 0;
  double move_fraction = 0.25;  // the papers' c
  int sweep_every = 1;          // rows from one Gibbs sweep to the next

  /// Whether any candidate may be proposed, not only the newest.
  bool any_candidate() const {
    return n_moves > 0 || proposal != Proposal::kAdapted;
  }
};

}  // namespace kernelbayes::srvm
