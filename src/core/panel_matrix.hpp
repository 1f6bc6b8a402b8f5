// A tall matrix that grows by columns, laid out for sums over its columns: rows
// in panels of a few lanes, and `width` columns of a panel next to each other.
#pragma once

#include <memory>
#include <vector>

#include "kernelbayes/kernel_tiles.hpp"

namespace kernelbayes {

class PanelMatrix {
 public:
  using Index = Eigen::Index;
  static constexpr Index lanes = tiles::n_lanes;
  static constexpr Index width = 32;

  // The number of rows rounded up to whole panels.
  static Index padded(Index rows) { return (rows + lanes - 1) / lanes * lanes; }

  explicit PanelMatrix(Index rows) : rows_(rows) {}

  Index cols() const { return cols_; }

  // Adds columns of zeros; existing columns stay where they are.
  void add_columns(Index count) {
    cols_ += count;
    while (static_cast<Index>(slabs_.size()) * width < cols_) {
      slabs_.emplace_back(new double[padded(rows_) * width]());
    }
  }

  // Rows p * lanes, ... of column l; further columns of the slab follow.
  double* panel(Index p, Index l) {
    return slabs_[l / width].get() + (p * width + l % width) * lanes;
  }
  const double* panel(Index p, Index l) const {
    return slabs_[l / width].get() + (p * width + l % width) * lanes;
  }

  double operator()(Index i, Index l) const {
    return panel(i / lanes, l)[i % lanes];
  }

  std::vector<double> row(Index i) const {
    std::vector<double> result(cols_);
    for (Index l = 0; l < cols_; ++l) result[l] = (*this)(i, l);
    return result;
  }

  PanelMatrix rows_at(const std::vector<Index>& rows) const {
    PanelMatrix result(rows.size());
    result.add_columns(cols_);
    for (Index i = 0; i < result.rows_; ++i) {
      for (Index l = 0; l < cols_; ++l) {
        result.panel(i / lanes, l)[i % lanes] = (*this)(rows[i], l);
      }
    }
    return result;
  }

  // values(i) minus the square of column l at row first + i, but at least zero;
  // `first` is a multiple of the lanes.
  void subtract_squares(Index l, Index first,
                        Eigen::Ref<Eigen::VectorXd> values) const {
    for (Index i = 0; i < values.size(); i += lanes) {
      const double* column = panel((first + i) / lanes, l);
      const Index n = std::min(lanes, values.size() - i);
      for (Index k = 0; k < n; ++k) {
        values[i + k] = std::max(values[i + k] - column[k] * column[k], 0.0);
      }
    }
  }

  // The first columns, as many as `out` has.
  void copy_to(MatrixRef out) const {
    constexpr Index height = 128 * lanes;  // rows whose panels stay in the cache
    for (Index first = 0; first < rows_; first += height) {
      const Index rows = std::min(height, rows_ - first);
      for (Index l = 0; l < out.cols(); ++l) {
        copy_column(l, first, out.col(l).segment(first, rows));
      }
    }
  }

 private:
  void copy_column(Index l, Index first,
                   Eigen::Ref<Eigen::VectorXd> out) const {
    const Index whole = out.size() / lanes * lanes;
    const double* from = panel(first / lanes, l);
    for (Index i = 0; i < whole; i += lanes, from += width * lanes) {
      out.segment<lanes>(i).array() = Eigen::Map<const tiles::Lanes>(from);
    }
    std::copy_n(from, out.size() - whole, out.data() + whole);
  }

  Index rows_, cols_ = 0;
  std::vector<std::unique_ptr<double[]>> slabs_;
};

}  // namespace kernelbayes
