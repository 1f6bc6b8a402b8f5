#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <kernelbayes/rng.hpp>
#include <utility>
#include <vector>

namespace kernelbayes::srvm {

/// Poisson(lambda) with a prior of lambda: known, or a mixture of gamma
/// distributions. The recursion (S2), (k + 1) p(k + 1) / p(k), is the mean of
/// lambda given k.
class CountPrior {
 public:
  struct Gamma {
    double shape, rate, weight;
  };

  static CountPrior poisson(double lambda) { return {{}, lambda}; }
  static CountPrior mixture(std::vector<Gamma> parts) {
    return {std::move(parts), 0};
  }

  double operator()(int k) const;

  /// The rate if it is known.
  double lambda() const { return lambda_; }
  /// Does p(k) rise again nowhere once it falls?
  bool has_one_mode() const { return parts_.size() <= 1; }

 private:
  CountPrior(std::vector<Gamma> parts, double lambda)
      : parts_(std::move(parts)), lambda_(lambda) {}

  std::vector<Gamma> parts_;
  double lambda_;
};

/// The prior of a set S of k centres out of m distinct candidates, with p(k)
/// truncated to k <= min(kmax, m), (S3):
///   subset:  p_m(S) = p(k) / C(m, k) / c_m,
///   iid:     p_m(S) = p(k) k! / m^k / d_m
/// where c_m and d_m make the probabilities of all sets sum to one.
class CentrePrior {
 public:
  enum class Kind { kSubset, kIid };

  CentrePrior() = default;
  CentrePrior(Kind kind, CountPrior count, int kmax)
      : kind_(kind), count_(count), kmax_(kmax) {}

  /// The rate of a Poisson prior.
  double lambda() const { return count_.lambda(); }
  int kmax() const { return kmax_; }

  /// The largest set among m candidates.
  int limit(int m) const { return std::min(kmax_, m); }

  /// p(k + 1) / p(k), before truncation.
  double next(int k) const { return count_(k) / (k + 1); }

  /// p_m(S + j) / p_m(S) for |S| = k < m: (S4).
  double odds(int k, int m) const {
    if (kind_ == Kind::kIid) return count_(k) / m;
    return count_(k) / (m - k);
  }

  /// A draw of the number of centres among m candidates, by inversion of u in
  /// [0, 1).
  int quantile(double u, int m) const;

  /// log c_m or log d_m.
  double log_constant(int m) const;

 private:
  friend class PriorStep;

  // P(k + 1) / P(k) for the number of centres among m.
  double growth(int k, int m) const {
    if (kind_ == Kind::kSubset) return next(k);
    return count_(k) / m * (m - k) / (k + 1);
  }

  Kind kind_ = Kind::kSubset;
  CountPrior count_ = CountPrior::poisson(10);
  int kmax_ = 100;
};

/// Factors of step m - 1 -> m, when candidate m appears, (S5). Both hold
/// c_{m-1} / c_m.
class PriorStep {
 public:
  PriorStep() = default;
  PriorStep(const CentrePrior& prior, int m);

  /// p_m(S') / p_{m-1}(S'): the factor for a set of size k that stays.
  double stay(int k) const;

  /// p_m(S' + m) / p_{m-1}(S'): the factor if m joins; zero at kmax.
  double join(int k) const;

 private:
  CentrePrior prior_;
  int m_ = 1;
  double constant_ = 1;
};

/// Of the inverse bandwidths of the predictors, learned: independent half-t
/// variables, (S50). A predictor whose inverse bandwidth is near 0 has no
/// effect.
struct ScalePrior {
  double scale = 1, df = 4;

  /// Of their logarithms, up to a constant.
  double log_density(const Eigen::VectorXd& log_inverse) const {
    double sum = 0;
    for (const double u : log_inverse) {
      const double ratio = std::exp(u) / scale;
      sum += u - 0.5 * (df + 1) * std::log1p(ratio * ratio / df);
    }
    return sum;
  }

  Eigen::VectorXd draw(int p, Rng& rng) const {
    Eigen::VectorXd out(p);
    for (double& u : out) {
      const double precision = rng.gamma(df / 2) / (df / 2);
      u = std::log(scale * std::abs(rng.normal()) / std::sqrt(precision));
    }
    return out;
  }
};

}  // namespace kernelbayes::srvm
