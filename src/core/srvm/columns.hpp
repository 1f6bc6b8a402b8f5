#pragma once

#include <deque>
#include <kernelbayes/kernel.hpp>
#include <unordered_map>
#include <vector>

#include "core/linalg.hpp"

namespace kernelbayes::srvm {

/// Columns K(., x_i) of the kernel matrices of all rows of x, times the rows'
/// `roots`, computed on demand. The oldest are dropped when there are more than
/// `capacity`, which costs time but changes no result. Not for concurrent use.
class ColumnCache {
 public:
  /// `x` must outlive the cache.
  ColumnCache(std::vector<Kernel> kernels, const Eigen::MatrixXd& x,
              std::vector<double> roots, std::size_t capacity)
      : kernels_(std::move(kernels)),
        x_(x),
        roots_(std::move(roots)),
        capacity_(capacity) {}

  /// For kernel h; valid until the next trim().
  const double* column(int row, int h);

  void trim();

 private:
  std::vector<Kernel> kernels_;
  const Eigen::MatrixXd& x_;
  std::vector<double> roots_;
  std::size_t capacity_;
  std::unordered_map<int, std::vector<double>> columns_;
  std::deque<int> age_;
};

/// Columns that no move takes out: the intercept, and a linear part, the
/// columns (x - centre) times the scale. Their coefficients have the prior of
/// the others, (S65).
struct FixedColumns {
  bool intercept = true;
  Eigen::VectorXd centre;  // empty: no linear part
  double scale = 1;

  int size() const { return intercept + static_cast<int>(centre.size()); }

  /// At points, one per row.
  Eigen::MatrixXd at(const Eigen::MatrixXd& x) const {
    Eigen::MatrixXd out(x.rows(), size());
    if (intercept) out.col(0).setOnes();
    if (centre.size() > 0) {
      out.rightCols(centre.size()) = scale * (x.rowwise() - centre.transpose());
    }
    return out;
  }
};

}  // namespace kernelbayes::srvm
