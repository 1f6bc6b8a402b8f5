#include <RcppEigen.h>

#include "core/kbr/permuted_trace.hpp"

// sum_ij a[i, j] b[p_i, p_j] for each column p of `permutations` (from 1).
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd permuted_trace_cpp(
    const Eigen::Map<Eigen::MatrixXd>& a, const Eigen::Map<Eigen::MatrixXd>& b,
    const Eigen::Map<Eigen::MatrixXi>& permutations) {
  return kernelbayes::kbr::permuted_trace(a, b, permutations.array() - 1);
}
