#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace kernelbayes {

/// Who descends from whom, and what that says about the variance of the
/// evidence's estimate: particles without a common ancestor are independent
/// (Lee and Whiteley, 2018, section 3.1).
///
/// Over a long run all particles come to share one founder and the estimator
/// has nothing left to compare. Families are therefore founded anew, at a
/// resampling, once few of them are left, and the variances of the stretches
/// in between are added, as for a sampler that forgets its past (Olsson and
/// Douc, 2019, on fixed lags).
///
/// The number of particles may change at a resampling. Two lineages that are
/// drawn independently differ at a resampling to N particles with probability
/// 1 - 1 / N, whatever their number before; the estimator is therefore unbiased
/// with a factor N_p / (N_p - 1) for each resampling p of a stretch and for its
/// beginning (Lee and Whiteley, 2018, let particle numbers vary over time).
class Genealogy {
 public:
  explicit Genealogy(int particles = 0)
      : founders_(identity(particles)), families_(founders_) {}

  /// Particle i becomes a copy of ancestors[i]; survivors stay in place.
  void resample(const std::vector<int>& ancestors,
                const std::vector<double>& weights) {
    const std::size_t before = families_.size();
    founders_ = inherit(founders_, ancestors);
    ++resamplings_;
    if (distinct(families_) < kFewFamilies * families_.size()) {
      closed_ += stretch_variance(weights);
      families_ = identity(static_cast<int>(ancestors.size()));
      stretch_ = 0;
      carried_ = 1;
      return;
    }
    if (ancestors.size() != before) {
      carried_ = correction();
      stretch_ = -1;
    }
    families_ = inherit(families_, ancestors);
    ++stretch_;
  }

  /// Of the evidence's estimate; normalised weights.
  double relative_variance(const std::vector<double>& weights) const {
    if (families_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
    return closed_ + stretch_variance(weights);
  }

  /// Distinct founders, of those at the start of the run.
  int founders() const { return distinct(founders_); }
  int resamplings() const { return resamplings_; }

  /// Plain data for a snapshot.
  struct State {
    std::vector<int> founders, families;
    int resamplings = 0, stretch = 0;
    double closed = 0, carried = 1;
  };
  State state() const {
    return {founders_, families_, resamplings_, stretch_, closed_, carried_};
  }
  void restore(State state) {
    founders_ = std::move(state.founders);
    families_ = std::move(state.families);
    resamplings_ = state.resamplings;
    stretch_ = state.stretch;
    closed_ = state.closed;
    carried_ = state.carried;
  }

 private:
  static constexpr double kFewFamilies = 0.25;

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

  // Labels are below the number of particles when they were given, which may
  // be larger than it is now.
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

  double stretch_variance(const std::vector<double>& weights) const {
    std::vector<double> family(range(families_), 0.0);
    for (std::size_t i = 0; i < families_.size(); ++i) {
      family[families_[i]] += weights[i];
    }
    double same = 0;
    for (const double w : family) same += w * w;
    const double factor = correction();
    // Where there once was a single particle, nothing can be compared.
    if (!std::isfinite(factor)) return std::numeric_limits<double>::quiet_NaN();
    return 1 - factor * (1 - same);
  }

  // The product of N_p / (N_p - 1) over the stretch.
  double correction() const {
    const double n = static_cast<double>(families_.size());
    return carried_ * std::pow(n / (n - 1), stretch_ + 1);
  }

  std::vector<int> founders_, families_;
  int resamplings_ = 0;
  int stretch_ = 0;     // resamplings since the families were founded, or
  double carried_ = 1;  // since their number changed: the product until then
  double closed_ = 0;   // variance of the stretches before
};

}  // namespace kernelbayes
