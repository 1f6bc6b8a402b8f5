#pragma once

#include <vector>

#include "../arithmetic.hpp"

namespace kernelbayes::kgs {

/// A matrix A with many rows, in blocks of rows that stay in the cache.
class RowBlocks {
 public:
  using Index = Eigen::Index;

  RowBlocks() = default;
  explicit RowBlocks(const Eigen::MatrixXd& whole);
  /// `fill(first, n)` returns rows first to first + n - 1.
  template <class Fill>
  RowBlocks(Index rows, Index columns, const Fill& fill)
      : rows_(rows), columns_(columns) {
    for (Index at = 0; at < rows; at += kRows) {
      blocks_.push_back(fill(at, std::min(kRows, rows - at)));
    }
  }

  Index rows() const { return rows_; }
  Index cols() const { return columns_; }
  Eigen::MatrixXd whole() const;
  /// A w.
  Eigen::MatrixXd times(const Eigen::MatrixXd& w) const;
  /// A'v.
  Eigen::MatrixXd transposed_times(const Eigen::MatrixXd& v) const;
  /// A' diag(weights) A.
  Eigen::MatrixXd squares(const Eigen::VectorXd& weights) const;

 private:
  static constexpr Index kRows = 256;
  Index rows_ = 0, columns_ = 0;
  std::vector<Eigen::MatrixXd> blocks_;
};

}  // namespace kernelbayes::kgs
