#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kernelbayes {

/// The genealogy of the particles, and what it says about the variance of the
/// estimated evidence: particles without a common ancestor are independent (Lee
/// and Whiteley, 2018, section 3.1), (T6).
///
/// In a long run all particles eventually share one founder, and the estimator
/// has nothing left to compare. New families are therefore founded, at a
/// resampling, once the youngest generation of families has lost half of them.
/// The contribution of a resampling to the variance is estimated from the
/// families that it founded, until kGenerations further generations have been
/// founded: later contributions are cut off, as for a sampler that forgets its
/// past (Olsson and Douc, 2019, on fixed lags). With V_g(t) the variance
/// estimated at t from the families of generation g, and e_g the time when it
/// is the oldest to be closed, the sum is
///   sum_g [V_g(e_g) - V_{g+1}(e_g)] + V_oldest(t). (T8)
///
/// The estimator counts pairs of particles from different families, and a pair
/// that a resampling merges by chance does not indicate variance. With counts
/// n_a of expectation N W_a, pairs with different parents are on average
///   sum_{a != b} E[n_a n_b] = N^2 (1 - sum W_a^2) - sum var(n_a)
/// of the N^2 (1 - sum W_a^2) that there would be without chance: a factor N /
/// (N - 1) for each multinomial resampling, as in Lee and Whiteley (2018), with
/// which the estimator is unbiased whether or not N changes. Other schemes have
/// smaller variances, estimated by (n_a - N W_a)^2, (T7); with the factor of
/// the multinomial scheme the estimator would be too small, and often negative.
class Genealogy {
 public:
  /// Family labels of the particles, and the product of the factors.
  struct Generation {
    std::vector<int> families;
    double correction = 1;
  };

  explicit Genealogy(int particles = 0)
      : founders_(identity(particles)), generations_{found(particles)} {}

  /// Particle i becomes a copy of ancestors[i]; survivors stay in place.
  /// `weights` are those before resampling.
  void resample(const std::vector<int>& ancestors,
                const std::vector<double>& weights, bool multinomial) {
    const int n = static_cast<int>(ancestors.size());
    founders_ = inherit(founders_, ancestors);
    ++resamplings_;
    const std::vector<int>& oldest = generations_.back().families;
    const bool due =
        distinct(oldest) < kFewFamilies * static_cast<double>(oldest.size());
    if (due && generations_.size() > kGenerations) close_oldest(weights);
    const double chance =
        multinomial ? factor(n) : pair_factor(ancestors, weights);
    for (Generation& generation : generations_) {
      generation.families = inherit(generation.families, ancestors);
      generation.correction *= chance;
    }
    if (due) generations_.push_back(found(n));
  }

  /// Of the estimated evidence; normalised weights.
  double relative_variance(const std::vector<double>& weights) const {
    if (founders_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
    return closed_ + variance(generations_.front(), weights);
  }

  /// Distinct founders among the particles at the start of the run.
  int founders() const { return distinct(founders_); }
  int resamplings() const { return resamplings_; }

  /// Plain data for a state: the generations, oldest first.
  struct State {
    std::vector<int> founders;
    std::vector<Generation> generations;
    int resamplings = 0;
    double closed = 0;
  };
  State state() const {
    return {founders_, generations_, resamplings_, closed_};
  }
  void restore(State state) {
    founders_ = std::move(state.founders);
    generations_ = std::move(state.generations);
    resamplings_ = state.resamplings;
    closed_ = state.closed;
  }

 private:
  static constexpr double kFewFamilies = 0.5;
  static constexpr std::size_t kGenerations = 3;

  static double factor(int n) { return n / (n - 1.0); }

  static double pair_factor(const std::vector<int>& ancestors,
                            const std::vector<double>& weights) {
    const int n = static_cast<int>(ancestors.size());
    std::vector<double> excess(weights.size());
    double same = 0;
    for (std::size_t a = 0; a < weights.size(); ++a) {
      excess[a] = -n * weights[a];
      same += weights[a] * weights[a];
    }
    for (const int a : ancestors) ++excess[a];
    double chance = 0;
    for (const double e : excess) chance += e * e;
    const double pairs = static_cast<double>(n) * n * (1 - same);
    // If one particle has nearly all the weight there are no pairs.
    return chance < pairs / 2 ? 1 / (1 - chance / pairs) : factor(n);
  }

  static Generation found(int n) { return {identity(n), factor(n)}; }

  static std::vector<int> identity(int n) {
    std::vector<int> out(n);
    std::iota(out.begin(), out.end(), 0);
    return out;
  }

  static std::vector<int> inherit(const std::vector<int>& labels,
                                  const std::vector<int>& ancestors) {
    std::vector<int> out(ancestors.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = labels[ancestors[i]];
    return out;
  }

  // Labels are below the number of particles at the time they were given, which
  // may be larger than it is now.
  static std::size_t range(const std::vector<int>& labels) {
    return labels.empty() ? 0
                          : *std::max_element(labels.begin(), labels.end()) + 1;
  }

  static int distinct(const std::vector<int>& labels) {
    std::vector<char> seen(range(labels), 0);
    int count = 0;
    for (const int label : labels) {
      count += !seen[label];
      seen[label] = 1;
    }
    return count;
  }

  static double variance(const Generation& generation,
                         const std::vector<double>& weights) {
    std::vector<double> family(range(generation.families), 0.0);
    for (std::size_t i = 0; i < generation.families.size(); ++i) {
      family[generation.families[i]] += weights[i];
    }
    double same = 0;
    for (const double w : family) same += w * w;
    // With a single particle at some time, nothing can be compared.
    if (!std::isfinite(generation.correction)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return 1 - generation.correction * (1 - same);
  }

  void close_oldest(const std::vector<double>& weights) {
    closed_ +=
        variance(generations_[0], weights) - variance(generations_[1], weights);
    generations_.erase(generations_.begin());
  }

  std::vector<int> founders_;
  std::vector<Generation> generations_;
  int resamplings_ = 0;
  double closed_ = 0;  // variance from older generations
};

}  // namespace kernelbayes
