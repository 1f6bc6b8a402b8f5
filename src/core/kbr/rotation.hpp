#pragma once

#include "../linalg.hpp"

namespace kernelbayes::kbr {

/// Axis times angle of b'a: how to get from rotations `b` to rotations `a`.
/// Rows are 3 x 3 matrices by columns; the result has rows of three.
Eigen::MatrixXd rotation_minus(const Eigen::Ref<const Eigen::MatrixXd>& a,
                               const Eigen::Ref<const Eigen::MatrixXd>& b);

/// b exp(v), the rotations reached from `b` by axis times angle `v`.
Eigen::MatrixXd rotation_plus(const Eigen::Ref<const Eigen::MatrixXd>& b,
                              const Eigen::Ref<const Eigen::MatrixXd>& v);

}  // namespace kernelbayes::kbr
