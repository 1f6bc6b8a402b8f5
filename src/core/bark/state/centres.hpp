#pragma once

#include <kernelbayes/rng.hpp>
#include <vector>

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

}  // namespace kernelbayes::bark
