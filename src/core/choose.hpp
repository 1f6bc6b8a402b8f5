#pragma once

#include <Eigen/Core>
#include <kernelbayes/rng.hpp>

namespace kernelbayes {

/// An index chosen with probability proportional to its weight; -1 if no weight
/// is above 0. `total` is their sum.
inline int choose_weighted(const Eigen::VectorXd& weights, double total,
                           Rng& rng) {
  double left = rng.uniform() * total;
  int last = -1;
  for (int i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return last;
}

}  // namespace kernelbayes
