// Internal entries through which tests reach the core of kbr_hmm().
#include <RcppEigen.h>

#include "core/kbr/filter.hpp"

using namespace kernelbayes;

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd squared_solve_cpp(const Eigen::MatrixXd& gram, double delta,
                                  const Eigen::VectorXd& phi) {
  return kbr::squared_solve(gram, delta, phi);
}
