#pragma once

#include "../linalg.hpp"

namespace kernelbayes::kbr {

/// The increasing sequence nearest to `values` in least squares, by pooling
/// adjacent violators, (K9): O(n).
Eigen::VectorXd isotonic(const Eigen::Ref<const Eigen::VectorXd>& values);

}  // namespace kernelbayes::kbr
