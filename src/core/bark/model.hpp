#pragma once

#include <algorithm>
#include <cmath>
#include <kernelbayes/parallel.hpp>
#include <kernelbayes/rng.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/linalg.hpp"

namespace kernelbayes::bark {

/// Probabilities of the locations of kernels: the intercept, then the rows of
/// x. With J ~ Po(nu) copies, their numbers of copies are independent, Po(nu
/// pi_i), (B6).
class CentrePrior {
 public:
  /// Equal for all n + 1 locations.
  CentrePrior() = default;
  /// Proportional to n + 1 weights, some of which may be 0.
  explicit CentrePrior(std::vector<double> weights);

  bool uniform() const { return probability_.empty(); }
  double probability(int location, int n) const {
    return uniform() ? 1.0 / (n + 1) : probability_[location];
  }
  /// log of the probability of one location over that of another whose
  /// probability is positive.
  double log_ratio(int to, int from) const {
    return uniform() ? 0 : log_probability_[to] - log_probability_[from];
  }
  int draw(int n, Rng& rng) const;

 private:
  std::vector<double> probability_, log_probability_, cumulative_;
};

/// A factor with coefficients for each of its groups: row i of group g has
/// z_i'b_g, b_g ~ N(0, Sigma).
struct Grouping {
  std::vector<int> group;  // of each row, from 0
  int count = 0;
  Eigen::MatrixXd z;      // n x q
  Eigen::VectorXd scale;  // of the prior of each standard deviation, (B100)

  int size() const { return static_cast<int>(z.cols()); }
};

/// What a response has beside its kernels: an offset, X gamma and the
/// coefficients of groups, (B99).
struct TermData {
  Eigen::MatrixXd linear;  // n x q
  Eigen::VectorXd linear_sd;
  Eigen::VectorXd linear_mean;  // of their prior; empty: 0
  std::vector<Grouping> groupings;
  Eigen::VectorXd offset;  // of latent responses; empty if there is none
  /// The last columns of `linear` may be slopes on the inputs of kernels: their
  /// standard deviation is common and unknown, half-t of this scale, (B143).
  int slopes = 0;
  double slope_scale = 1;

  bool any() const { return linear.cols() > 0 || !groupings.empty(); }
  /// Adds slopes on the columns of x; none if the scale is 0.
  void add_slopes(const Eigen::MatrixXd& x, double scale);
};

/// How the scales lambda of the predictors are distributed, (B11); in all four,
/// S = sum lambda ~ Ga(a, b) given that any predictor is included.
enum class ScaleType { kEqual, kDifferent, kSelectEqual, kSelectDifferent };

/// Of pooled scales, in logarithms: the level, common scales around it, and how
/// far those of kernels are from them, (B80).
struct PoolPrior {
  double level_mean = -2, level_sd = 1.5, centre_sd = 1, spread_sd = 1;
};

/// The prior of Ouyang, Clyde and Wolpert (2008), with the corrections of
/// derivations/bark.md, section 10. Gammas have a shape and a RATE.
struct Prior {
  ScaleType type = ScaleType::kSelectDifferent;
  double alpha = 1, eps = 0.5;
  double nu = 20;         // mean number of kernel copies
  double a = 1, b = 1;    // S ~ Ga(a, b)
  double ap = 1, bp = 1;  // inclusion probability ~ Be(ap, bp)
  double noise_shape = 1.5, noise_rate = 1;  // of the noise precision
  bool noise_fixed = false;
  double noise_precision = 1;  // if it is fixed
  /// Degrees of freedom of the noise, if they are finite or learned: equally
  /// probable values, the first of which starts a chain.
  std::vector<double> df;
  CentrePrior centres;
  double centre_sd = 0;     // above 0: kernels are near rows, not at them
  bool own_scales = false;  // one set per kernel
  /// With own scales: the inputs of each group. A kernel belongs to a group,
  /// each equally probable, and has inputs of that group only. Empty: one group
  /// of all inputs.
  std::vector<std::vector<int>> groups;
  bool pooled = false;  // own scales are pooled: A and B are not used
  /// Equally probable concentrations, if kernels share their own scales in
  /// clusters, (B109).
  std::vector<double> concentrations;
  PoolPrior pool;
  int directions = 0;  // above 0: the number of them
  /// Above 0: f has slopes, too, see TermData.
  double slope_scale = 0;

  bool clustered() const { return !concentrations.empty(); }
  /// With alpha = 1 the copies at one location have one coefficient.
  bool collapsed() const { return alpha == 1; }
  /// Kernels may differ in more than their row: then no two copies are equal.
  bool shaped() const { return centre_sd > 0 || own_scales; }
  bool selects() const {
    return type == ScaleType::kSelectEqual ||
           type == ScaleType::kSelectDifferent;
  }
  bool equal() const {
    return type == ScaleType::kEqual || type == ScaleType::kSelectEqual;
  }

  /// The number of inputs of kernels, each with a scale: the p predictors, or
  /// fewer.
  int n_inputs(int p) const { return directions > 0 ? directions : p; }

  /// The shape of each included lambda, d of them included, where they differ.
  double share_shape(int d) const { return a / d; }

  /// pi(delta with one more) / pi(delta), d of p included: (B12).
  double log_include(int d, int p) const {
    return std::log((ap + d) / (bp + p - d - 1));
  }

  /// (B8).
  double draw_varphi(Rng& rng) const;
  /// Given a coefficient over its number of copies, if alpha is 1: (B95).
  double draw_varphi(double scaled, Rng& rng) const;
  /// The noise precision given n residuals with this sum of squares, (B46).
  double draw_noise(double n, double squares, Rng& rng) const {
    return rng.gamma(noise_shape + 0.5 * n) / (noise_rate + 0.5 * squares);
  }
  double varphi_rate() const { return alpha * eps * eps / 2; }
};

/// log of a draw from Ga(shape, rate), (B13): small shapes underflow otherwise.
inline double log_gamma_draw(double shape, double rate, Rng& rng) {
  const double u = 1 - rng.uniform();
  return std::log(rng.gamma(shape + 1)) + std::log(u) / shape - std::log(rate);
}

// If alpha is tiny, or a coefficient huge, varphi may underflow; its variance
// would be infinite. For NaN, too.
inline double at_least_tiny(double varphi) {
  constexpr double kLeastLog = -600;
  return std::max(std::exp(kLeastLog), varphi);
}

inline double Prior::draw_varphi(Rng& rng) const {
  const double log_draw = log_gamma_draw(alpha / 2, varphi_rate(), rng);
  return at_least_tiny(std::exp(log_draw));
}

inline double Prior::draw_varphi(double scaled, Rng& rng) const {
  const double rate = varphi_rate() + 0.5 * scaled * scaled;
  return at_least_tiny(rng.gamma(1.0) / rate);
}

/// log(e^a + e^b); one of them may be minus infinity.
inline double log_add(double a, double b) {
  const double top = std::max(a, b);
  return top + std::log1p(std::exp(std::min(a, b) - top));
}

/// log density of Ga(shape, rate) at exp(log_x), with respect to x.
inline double log_gamma_density(double log_x, double shape, double rate) {
  return shape * std::log(rate) - std::lgamma(shape) + (shape - 1) * log_x -
         rate * std::exp(log_x);
}

class GlmLikelihood;
struct Data;
using LikelihoodPtr = std::unique_ptr<GlmLikelihood>;
using MakeLikelihood = LikelihoodPtr (*)(const Data&, const Prior&);

/// A kind of response: a row of the table in model.cpp.
struct Family {
  /// What is normal: the noise; the noise given row weights, omega ~
  /// Ga(df / 2, df / 2), part of the state; a latent response, f + N(0, 1); or
  /// nothing, see GlmLikelihood.
  enum Form { kNormal, kStudent, kLatent, kGlm };

  const char* name;  // in R
  Form form;
  MakeLikelihood likelihood = nullptr;  // of kGlm
  /// y, 1 to C, says between which of the cut points -inf < 0 = c_1 < ... <
  /// c_(C-1) < inf the latent response lies; the logarithms of the gaps are
  /// N(0, 1), (B48). Otherwise y, -1 or 1, is its sign.
  bool cuts = false;
  bool censored = false;
};
/// By its name.
const Family* family(const std::string& name);

/// What moves of a Backfit look at before all rows, see Backfit::glimpse():
/// about so many rows, in stretches; and from about how many rows a local move
/// chooses.
struct Glance {
  int rows = 2500, stretch = 128, similar = 1000;
};

/// Responses have precision phi times their weight (1 if they are latent).
struct Data {
  Eigen::MatrixXd x;  // standardised
  Eigen::VectorXd y, weights;
  const Family* family = bark::family("gaussian");
  int classes = 2;           // of an ordered response
  Eigen::VectorXd trials{};  // of a binomial one
  Eigen::VectorXd upper{};   // of a censored one, whose lower limit is y
  /// Of a log variance: below it the likelihood is that at the floor.
  double floor = -std::numeric_limits<double>::infinity();
  TermData terms{};
  /// From this number of rows on sweeps have moves in O(n), see backfits().
  int many_rows = 5000;
  Glance glance{};
  const Arithmetic* arithmetic = &Arithmetic::best();
  /// Shares parts of many rows among the threads of a chain.
  Executor executor = serial_executor();
  bool student() const { return family->form == Family::kStudent; }
  bool glm() const { return family->form == Family::kGlm; }
  /// Is there a latent response?
  bool latent() const { return family->form == Family::kLatent; }
  bool ordered() const { return latent() && family->cuts; }
  /// The class of a row, from 0.
  int level(Eigen::Index i) const {
    return ordered() ? static_cast<int>(y[i]) - 1 : y[i] > 0;
  }
  int n() const { return static_cast<int>(x.rows()); }
  int p() const { return static_cast<int>(x.cols()); }
};

}  // namespace kernelbayes::bark
