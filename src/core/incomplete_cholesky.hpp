// Incomplete Cholesky factor of a kernel matrix with pivoting on the largest
// residual: G ~ R R', columns of G evaluated only as they are chosen
// (Fine and Scheinberg 2001; Bach and Jordan 2002).
//
// The result depends on the data, not on their order: permuted points give the
// permuted factor, bit by bit, because entries of the kernel and of the factor
// are reproducible and tie_order.hpp breaks ties.
#pragma once

#include "gram_source.hpp"
#include "pivot_block.hpp"
#include "tie_order.hpp"

namespace kernelbayes {

class IncompleteCholesky {
 public:
  using Index = Eigen::Index;

  explicit IncompleteCholesky(Index n) : panels_(n) {}

  // Rows of G, in order of choice.
  const std::vector<Index>& pivots() const { return pivots_; }
  Index rank() const { return pivots_.size(); }
  double residual() const { return residual_; }  // trace of G - R R'
  double trace() const { return trace_; }        // trace of G

  // R, n x rank; exactly lower triangular at the pivots.
  void copy_factor(MatrixRef out) const {
    panels_.copy_to(out);
    for (Index l = 0; l < rank(); ++l) {
      out(pivots_[l], l) = roots_[l];
      out.row(pivots_[l]).tail(rank() - l - 1).setZero();
    }
  }

 private:
  template <class Source>
  friend class PivotedFactorisation;

  std::vector<Index> pivots_;
  std::vector<double> roots_;
  PanelMatrix panels_;
  double residual_ = 0, trace_ = 0;
};

// Each pass must read the whole factor, so columns come in blocks.
template <class Source>
class PivotedFactorisation {
 public:
  using Index = Eigen::Index;

  PivotedFactorisation(const Source& source, const std::vector<Index>& order)
      : source_(source),
        place_(order.size()),
        residual_(source.size()),
        result_(source.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) place_[order[i]] = i;
    source_.diagonal(residual_);
    result_.trace_ = result_.residual_ = residual_.sum();
    if (!std::isfinite(result_.trace_)) {
      throw std::invalid_argument("the kernel's diagonal is not finite");
    }
  }

  void run(Index max_rank, double tol) {
    const Index n = residual_.size();
    if (n == 0) return;
    const double floor = static_cast<double>(n) *
                         std::numeric_limits<double>::epsilon() *
                         residual_.maxCoeff();
    const double enough = tol * result_.trace_;
    max_rank = std::min(max_rank, n);
    while (result_.rank() < max_rank && result_.residual_ > enough) {
      const Index limit = std::min(max_rank - result_.rank(), max_block);
      const pivoting::Block block = pivoting::block_among(
          pivoting::nominate(residual_, place_, n_candidates()), source_,
          result_.panels_, limit, floor);
      if (block.size() == 0) return;
      append(block, enough);
    }
  }

  IncompleteCholesky result() && { return std::move(result_); }

 private:
  static constexpr Index max_block = 64;
  static constexpr Index height = 128, width = tiles::n_columns;

  // So many that blocks stay long among many points of nearly the same residual,
  // and so few that they take little time beside the pass over all points.
  Index n_candidates() const {
    return std::max<Index>(128, residual_.size() / 256);
  }

  // The columns of a block, up to the one that reaches the tolerance.
  void append(const pivoting::Block& block, double enough) {
    const std::vector<double> traces = extend(block);
    for (std::size_t q = 0; q < traces.size(); ++q) {
      if (!(result_.residual_ > enough)) return;
      result_.pivots_.push_back(block.pivots[q]);
      result_.roots_.push_back(block.rows[q].back());
      result_.residual_ = traces[q];
    }
  }

  // The columns, in strips of rows that stay in the cache. Returns the residual
  // trace after each.
  std::vector<double> extend(const pivoting::Block& block) {
    const Index n = residual_.size(), p = block.size();
    const std::vector<Eigen::MatrixXd> groups = column_groups(block);
    const Index first = result_.panels_.cols();
    result_.panels_.add_columns(p);
    Eigen::MatrixXd values(height, p);
    std::vector<double> traces(p, 0.0);
    for (Index row = 0; row < n; row += height) {
      const Index rows = std::min(height, n - row);
      if (rows < height) values.setZero();
      source_.block(row, block.pivots, values.topRows(rows));
      solve_strip(row, rows, groups, values);
      for (Index q = 0; q < p; ++q) {
        auto residual = residual_.segment(row, rows);
        result_.panels_.subtract_squares(first + q, row, residual);
        const Index pivot = block.pivots[q] - row;
        if (pivot >= 0 && pivot < rows) residual[pivot] = 0;
        traces[q] += residual.sum();
      }
    }
    return traces;
  }

  static std::vector<Eigen::MatrixXd> column_groups(
      const pivoting::Block& block) {
    std::vector<Eigen::MatrixXd> groups;
    for (Index q = 0; q < block.size(); q += width) {
      groups.push_back(block.group(q, std::min(width, block.size() - q)));
    }
    return groups;
  }

  void solve_strip(Index row, Index rows,
                   const std::vector<Eigen::MatrixXd>& groups,
                   const Eigen::MatrixXd& values) {
    const Index padded = PanelMatrix::padded(rows);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      cholesky_columns::solve(
          result_.panels_, row / PanelMatrix::lanes,
          values.block(0, g * width, padded, groups[g].rows()), groups[g]);
    }
  }

  Source source_;
  std::vector<Index> place_;
  Eigen::VectorXd residual_;
  IncompleteCholesky result_;
};

// Stops at residual trace <= tol * trace, at max_rank columns, or when only
// rounding error is left (n eps max diagonal, as in LAPACK's dpstrf). `order`:
// the points by precedence in ties.
template <class Source>
IncompleteCholesky incomplete_cholesky(const Source& source,
                                       const std::vector<Eigen::Index>& order,
                                       Eigen::Index max_rank, double tol) {
  PivotedFactorisation<Source> factorisation(source, order);
  factorisation.run(max_rank, tol);
  return std::move(factorisation).result();
}

// Features phi(z) = L^-1 k(pivots, z), (K1), one row per point of z, with L the
// rows of R at the pivots: at the points of the factorisation they are the rows
// of R.
inline Eigen::MatrixXd incomplete_cholesky_features(
    const Kernel& kernel, const ConstMatrixRef& pivot_points,
    const Eigen::Ref<const Eigen::MatrixXd>& pivot_factor,
    const ConstMatrixRef& z) {
  Eigen::MatrixXd features(z.rows(), pivot_points.rows());
  if (features.size() == 0) return features;  // Eigen's solver would read it
  kernel.block(z, pivot_points, features);
  pivot_factor.triangularView<Eigen::Lower>()
      .transpose()
      .solveInPlace<Eigen::OnTheRight>(features);
  return features;
}

}  // namespace kernelbayes
