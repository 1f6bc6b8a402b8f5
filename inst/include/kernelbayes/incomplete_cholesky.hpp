// Incomplete Cholesky factor of a kernel matrix with pivoting on the largest
// residual: G ~ R R', columns of G evaluated only as they are chosen
// (Fine and Scheinberg 2001; Bach and Jordan 2002).
//
// The result belongs to the data, not to their order: permuted points give the
// permuted factor, bit by bit, because entries of the kernel are reproducible
// and ties go by tie_order.hpp.
#pragma once

#include <vector>

#include "gram_source.hpp"
#include "tie_order.hpp"

namespace kernelbayes {

struct IncompleteCholesky {
  std::vector<Eigen::Index> pivots;  // rows of x, in order of choice
  Eigen::MatrixXd factor;            // R, n x rank; lower triangular at pivots
  double residual = 0;               // trace of G - R R'
  double trace = 0;                  // trace of G
};

namespace pivoting {

using Eigen::Index;

inline std::vector<Index> places(const std::vector<Index>& order) {
  std::vector<Index> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  return place;
}

inline Index choose(const Eigen::VectorXd& residual,
                    const std::vector<Index>& place) {
  const double least = residual.maxCoeff() * (1 - 1e-12);
  Index best = -1;
  for (Index i = 0; i < residual.size(); ++i) {
    if (residual[i] >= least && (best < 0 || place[i] < place[best])) best = i;
  }
  return best;
}

// column -= R R[pivot, ]', by tiles of rows, columns of R in order.
inline void subtract_previous(const Eigen::MatrixXd& factor, Index rank,
                              Index pivot, Eigen::VectorXd& column) {
  constexpr Index height = 512;
  for (Index i = 0; i < column.size(); i += height) {
    const Index n = std::min(height, column.size() - i);
    for (Index l = 0; l < rank; ++l) {
      column.segment(i, n) -= factor.col(l).segment(i, n) * factor(pivot, l);
    }
  }
}

}  // namespace pivoting

// Stops at residual trace <= tol * trace, at max_rank columns, or when what is
// left is rounding error (n eps max diagonal, as LAPACK's dpstrf).
// `order` are the points by precedence in ties.
template <class Source>
IncompleteCholesky incomplete_cholesky(const Source& source,
                                       const std::vector<Eigen::Index>& order,
                                       Eigen::Index max_rank, double tol) {
  using Eigen::Index;
  const Index n = source.size();
  max_rank = std::min(max_rank, n);
  IncompleteCholesky result;
  Eigen::VectorXd residual(n), column(n);
  source.diagonal(residual);
  result.trace = result.residual = residual.sum();
  if (!std::isfinite(result.trace)) {
    throw std::invalid_argument("the kernel's diagonal is not finite");
  }
  if (n == 0) return result;
  const std::vector<Index> place = pivoting::places(order);
  const double floor = n * std::numeric_limits<double>::epsilon() *
                       residual.maxCoeff();
  Eigen::MatrixXd& factor = result.factor;
  factor.resize(n, std::min<Index>(max_rank, 32));

  Index rank = 0;
  while (rank < max_rank && result.residual > tol * result.trace) {
    const Index pivot = pivoting::choose(residual, place);
    if (!(residual[pivot] > floor)) break;
    if (rank == factor.cols()) {
      factor.conservativeResize(n, std::min(2 * rank, max_rank));
    }
    source.column(pivot, column);
    pivoting::subtract_previous(factor, rank, pivot, column);
    const double root = std::sqrt(residual[pivot]);
    column /= root;
    for (Index p : result.pivots) column[p] = 0;  // exactly triangular
    column[pivot] = root;
    factor.col(rank) = column;
    residual = (residual - column.cwiseAbs2()).cwiseMax(0.0);
    residual[pivot] = 0;
    result.residual = residual.sum();
    result.pivots.push_back(pivot);
    ++rank;
  }
  factor.conservativeResize(n, rank);
  return result;
}

// Features phi(z) = L^-1 k(pivots, z), one row a point of z, with L the rows of
// R at the pivots: at the points of the factorisation they are the rows of R.
inline Eigen::MatrixXd incomplete_cholesky_features(
    const Kernel& kernel, const ConstMatrixRef& pivot_points,
    const Eigen::Ref<const Eigen::MatrixXd>& pivot_factor,
    const ConstMatrixRef& z) {
  Eigen::MatrixXd features(z.rows(), pivot_points.rows());
  kernel.block(z, pivot_points, features);
  pivot_factor.triangularView<Eigen::Lower>()
      .transpose()
      .solveInPlace<Eigen::OnTheRight>(features);
  return features;
}

}  // namespace kernelbayes
