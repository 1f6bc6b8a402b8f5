#pragma once

#include "../linalg.hpp"

namespace kernelbayes::kbr {

/// sum_ij A(i, j) B(p_i, p_j), as in (K16), for each column p of
/// `permutations`, numbered from 0; A and B are symmetric n x n. Whole columns
/// of B are read, so a permutation costs n^2 / 2 look-ups in nearby memory.
Eigen::VectorXd permuted_trace(
    const Eigen::Ref<const Eigen::MatrixXd>& a,
    const Eigen::Ref<const Eigen::MatrixXd>& b,
    const Eigen::Ref<const Eigen::MatrixXi>& permutations);

}  // namespace kernelbayes::kbr
