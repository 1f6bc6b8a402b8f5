#pragma once

#include "core/linalg.hpp"
#include "gram.hpp"

namespace kernelbayes::kbr {

/// A probability on the points of a weighted sample.
struct Probability {
  Eigen::VectorXd weights;  // not negative, sum 1
  double distance;          // of the kernel means, before and after
};

/// The nearest probability p to weights w of any sign that sum to 1:
/// |R'(p - w)|^2 + ridge |p - w|^2 is least, (K30). By Newton steps on its
/// dual, (K31) to (K33), each O(n r) and O(s r min(s, r)) with s positive
/// weights.
Probability nearest_probability(const Features& features,
                                const Eigen::VectorXd& weights, double ridge);

/// max(v - c, 0), with c such that the sum is 1: the nearest point of the
/// simplex.
Eigen::VectorXd onto_simplex(const Eigen::VectorXd& v);

/// The increasing sequence nearest to `values` in least squares, by pooling
/// adjacent violators, (K9): O(n).
Eigen::VectorXd isotonic(const Eigen::Ref<const Eigen::VectorXd>& values);

}  // namespace kernelbayes::kbr
