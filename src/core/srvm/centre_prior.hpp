#pragma once

#include <algorithm>
#include <cmath>

namespace kernelbayes {
namespace srvm {

/// The prior of a set S of k centres out of m distinct candidates, with
/// p(k) Poisson(lambda) truncated to k <= min(kmax, m):
///   subset:  p_m(S) = (lambda^k / k!) / C(m, k) / c_m,
///   iid:     p_m(S) = (lambda / m)^k / d_m
/// where c_m and d_m make the probabilities of all sets sum to one.
class CentrePrior {
 public:
  enum class Kind { kSubset, kIid };

  CentrePrior() = default;
  CentrePrior(Kind kind, double lambda, int kmax)
      : kind_(kind), lambda_(lambda), kmax_(kmax) {}

  double lambda() const { return lambda_; }
  int kmax() const { return kmax_; }

  /// The largest set among m candidates.
  int limit(int m) const { return std::min(kmax_, m); }

  /// p(k + 1) / p(k), before truncation.
  double next(int k) const { return lambda_ / (k + 1); }

  /// p_m(S + j) / p_m(S) for |S| = k < m.
  double odds(int k, int m) const {
    if (kind_ == Kind::kIid) return lambda_ / m;
    return lambda_ / (m - k);
  }

  /// p_m(S) for |S| = k, normalised.
  double log_probability(int k, int m) const;

  /// A number of centres among m candidates, by inversion of u in [0, 1).
  int quantile(double u, int m) const;

  /// log c_m or log d_m.
  double log_constant(int m) const;

 private:
  friend class PriorStep;

  // P(k + 1) / P(k) for the number of centres among m.
  double growth(int k, int m) const {
    if (kind_ == Kind::kSubset) return next(k);
    return lambda_ / m * (m - k) / (k + 1);
  }

  Kind kind_ = Kind::kSubset;
  double lambda_ = 10;
  int kmax_ = 100;
};

/// Factors of step m - 1 -> m, when candidate m appears. Both hold
/// c_{m-1} / c_m.
class PriorStep {
 public:
  PriorStep() = default;
  PriorStep(const CentrePrior& prior, int m);

  /// p_m(S') / p_{m-1}(S'): what a set of size k gains if it stays.
  double stay(int k) const;

  /// p_m(S' + m) / p_{m-1}(S'): if m joins; zero at kmax.
  double join(int k) const;

 private:
  CentrePrior prior_;
  int m_ = 1;
  double constant_ = 1;
};

}  // namespace srvm
}  // namespace kernelbayes
