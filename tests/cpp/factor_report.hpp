#pragma once

#include <RcppEigen.h>

#include <kernelbayes/cholesky.hpp>
#include <vector>

#include "core/linalg.hpp"
#include "glue/stream.hpp"

namespace testing_r {

using namespace kernelbayes;
using Rcpp::_;

inline LowerTriangle lower_triangle(SEXP matrix) {
  const auto dense = Rcpp::as<Eigen::MatrixXd>(matrix);
  LowerTriangle out;
  out.resize(static_cast<int>(dense.rows()));
  for (int j = 0; j < out.size(); ++j) {
    for (int i = j; i < out.size(); ++i) out(i, j) = dense(i, j);
  }
  return out;
}

/// The lower triangle of a factor or gram matrix, zeros above.
template <typename Triangle>
Eigen::MatrixXd dense(const Triangle& from) {
  return Eigen::MatrixXd::NullaryExpr(
      from.size(), from.size(),
      [&](int i, int j) { return i < j ? 0.0 : from(i, j); });
}

/// The contents of a factor: L, z, L^-1 column by column, A^-1 b.
inline Rcpp::List report(const Cholesky& factor) {
  const int p = factor.size();
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(p, p);
  for (int i = 0; i < p; ++i) factor.solve_lower(inverse.col(i).data(), i);
  std::vector<double> solution = factor.z();
  factor.solve_upper(solution.data());
  return Rcpp::List::create(
      _["factor"] = dense(factor), _["z"] = factor.z(), _["ok"] = factor.ok(),
      _["inverse"] = inverse, _["solution"] = solution,
      _["half_log_determinant"] = factor.half_log_determinant());
}

}  // namespace testing_r
