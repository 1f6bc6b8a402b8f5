#pragma once

#include <algorithm>
#include <cmath>

#include "../archive.hpp"

namespace kernelbayes::kgs {

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

}  // namespace kernelbayes::kgs
