#pragma once

#include <cmath>
#include <vector>

namespace kernelbayes {
namespace kgs {

/// In place of an infinite cost: a power of two, whose multiples by counts are
/// exact, so that sums of changes of energy come back to where they began.
constexpr double kForbidden = 0x1p997;

/// What a wrong label costs in log likelihood, by the class of the label.
using Costs = std::vector<double>;

/// Of one rate of wrong labels, the same for all of `classes` classes:
/// log((1 - q) (C - 1) / q), (G2).
inline double cost_of_rate(double q, int classes) {
  return q > 0 ? std::log((1 - q) * (classes - 1) / q) : kForbidden;
}

}  // namespace kgs
}  // namespace kernelbayes
