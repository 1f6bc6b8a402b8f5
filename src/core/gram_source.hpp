// Sources of the entries of a kernel matrix: a kernel at points, or the matrix
// itself. A source has size(), diagonal(out) and
//   block(first, columns, out)     rows from `first` on, as many as out has
//   block(rows, columns, out)      rows at indices
// whose entries have the same bits.
#pragma once

#include <vector>

#include "kernelbayes/kernel.hpp"

namespace kernelbayes {

class KernelSource {
 public:
  using Index = Eigen::Index;
  using Indices = std::vector<Index>;

  KernelSource(const Kernel& kernel, const ConstMatrixRef& x)
      : kernel_(kernel), x_(x) {}

  Index size() const { return x_.rows(); }

  void diagonal(Eigen::Ref<Eigen::VectorXd> out) const {
    kernel_.diagonal(x_, out);
  }

  void block(Index first, const Indices& columns, MatrixRef out) const {
    kernel_.block(x_.middleRows(first, out.rows()), points(columns), out);
  }

  void block(const Indices& rows, const Indices& columns, MatrixRef out) const {
    kernel_.block(points(rows), points(columns), out);
  }

 private:
  Eigen::MatrixXd points(const Indices& rows) const {
    Eigen::MatrixXd result(rows.size(), x_.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      result.row(i) = x_.row(rows[i]);
    }
    return result;
  }

  Kernel kernel_;
  ConstMatrixRef x_;
};

class MatrixSource {
 public:
  using Index = Eigen::Index;
  using Indices = std::vector<Index>;

  explicit MatrixSource(const ConstMatrixRef& gram) : gram_(gram) {}

  Index size() const { return gram_.rows(); }

  void diagonal(Eigen::Ref<Eigen::VectorXd> out) const {
    out = gram_.diagonal();
  }

  void block(Index first, const Indices& columns, MatrixRef out) const {
    for (Index j = 0; j < out.cols(); ++j) {
      out.col(j) = gram_.col(columns[j]).segment(first, out.rows());
    }
  }

  void block(const Indices& rows, const Indices& columns, MatrixRef out) const {
    for (Index j = 0; j < out.cols(); ++j) {
      for (Index i = 0; i < out.rows(); ++i) {
        out(i, j) = gram_(rows[i], columns[j]);
      }
    }
  }

 private:
  ConstMatrixRef gram_;
};

}  // namespace kernelbayes
