#pragma once

#include <cmath>
#include <vector>

namespace kernelbayes::kgs {

/// Replaces an infinite cost: a power of two, so that multiples by counts are
/// exact and changes of energy add up to exactly 0.
constexpr double kForbidden = 0x1p997;

/// The cost of a wrong label in log likelihood, by class of the label.
using Costs = std::vector<double>;

/// For one rate of wrong labels in all `classes` classes: log((1 - q) (C - 1) /
/// q), (G2).
inline double cost_of_rate(double q, int classes) {
  return q > 0 ? std::log((1 - q) * (classes - 1) / q) : kForbidden;
}

}  // namespace kernelbayes::kgs
