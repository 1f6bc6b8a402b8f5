#pragma once

#include <algorithm>
#include <cmath>

#include "core/archive.hpp"
#include "core/linalg.hpp"
#include "kernelbayes/rng.hpp"

namespace kernelbayes::kgs {

inline Eigen::VectorXd normal_vector(Eigen::Index n, Rng& rng) {
  Eigen::VectorXd out(n);
  for (double& v : out) v = rng.normal();
  return out;
}

/// A step of slice sampling in one dimension (Neal, 2003): stepping out, then
/// shrinking.
template <class LogDensity>
double slice(double at, double width, const LogDensity& log_density, Rng& rng) {
  constexpr int kMostSteps = 16, kMostShrinks = 200;
  const double level = log_density(at) + std::log(1 - rng.uniform());
  double low = at - width * rng.uniform(), high = low + width;
  // The number of steps on each side is drawn beforehand.
  int left = static_cast<int>(kMostSteps * rng.uniform());
  int right = kMostSteps - 1 - left;
  while (left-- > 0 && log_density(low) > level) low -= width;
  while (right-- > 0 && log_density(high) > level) high += width;
  for (int k = 0; k < kMostShrinks; ++k) {
    const double to = low + rng.uniform() * (high - low);
    if (log_density(to) > level) return to;
    (to < at ? low : high) = to;
  }
  return at;
}

/// The size of leapfrog steps at which a share `target` of trajectories is
/// accepted, by dual averaging during the warmup (Hoffman and Gelman, 2014).
class StepSize {
 public:
  double size() const { return std::exp(log_size_); }

  void note(double acceptance) {
    constexpr double kTarget = 0.8, kGamma = 0.05, kDelay = 10, kForget = 0.75;
    constexpr double kCentre = -0.5;
    ++count_;
    const double share = 1 / (count_ + kDelay);
    gap_ += share * (kTarget - acceptance - gap_);
    log_size_ =
        std::clamp(kCentre - std::sqrt(count_) / kGamma * gap_, kLeast, kMost);
    const double weight = std::pow(count_, -kForget);
    mean_ += weight * (log_size_ - mean_);
  }
  /// At the end of the warmup.
  void settle() {
    if (count_ > 0) log_size_ = mean_;
  }

  void transfer(Archive& archive) {
    archive("step", log_size_, Want::between(kLeast, kMost));
    archive("step_mean", mean_, Want::between(kLeast, kMost));
    archive("step_gap", gap_, Want::between(-1, 1));
    archive("step_count", count_, Want::tally());
  }

 private:
  static constexpr double kLeast = -7, kMost = 0.2;
  double log_size_ = -1.2, mean_ = -1.2, gap_ = 0, count_ = 0;
};

/// Of moves that are not counted.
struct NoCounts {
  template <class Model>
  explicit NoCounts(const Model&) {}
  void note_exchange(bool) {}
  void transfer(Archive&) {}
};

}  // namespace kernelbayes::kgs
