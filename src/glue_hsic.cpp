#include <RcppEigen.h>

#include "core/kbr/permuted_trace.hpp"
#include "glue/lists.hpp"

// sum_ij a[i, j] b[p_i, p_j] for each column p of `permutations` (from 1).
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd permuted_trace_cpp(
    const Eigen::Map<Eigen::MatrixXd>& a, const Eigen::Map<Eigen::MatrixXd>& b,
    const Eigen::Map<Eigen::MatrixXi>& permutations) {
  const Eigen::Index n = a.rows();
  require(a.cols() == n && b.rows() == n && b.cols() == n &&
              permutations.rows() == n && (permutations.array() >= 1).all() &&
              (permutations.array() <= n).all(),
          "matrices and permutations disagree");
  return kernelbayes::kbr::permuted_trace(a, b, permutations.array() - 1);
}
