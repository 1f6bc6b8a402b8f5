#pragma once

#include <RcppEigen.h>

#include <kernelbayes/cholesky.hpp>
#include <kernelbayes/rng.hpp>
#include <string>
#include <vector>

#include "core/linalg.hpp"

namespace testing_r {

using namespace kernelbayes;
using Rcpp::_;

/// A stream from hexadecimal words: its key (seed, major, minor), the pair
/// (seed, index) of a derived seed, or the four words of its state.
inline Rng stream(const std::vector<std::string>& from) {
  std::vector<std::uint64_t> w;
  for (const auto& word : from) w.push_back(std::stoull(word, nullptr, 16));
  if (w.size() == 2) return Rng(Rng::derive(w[0], w[1]));
  Rng rng(w.at(0), w.at(1), w.at(2));
  if (w.size() == 4) rng.set_state({w[0], w[1], w[2], w[3]});
  return rng;
}

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

/// What a factor says: L, z, L^-1 column by column, A^-1 b.
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
