// Where the entries of a kernel matrix come from: a kernel at points, or the
// matrix itself. A source has size(), diagonal(out) and column(j, out).
#pragma once

#include "kernel.hpp"

namespace kernelbayes {

class KernelSource {
 public:
  using Index = Eigen::Index;

  KernelSource(const Kernel& kernel, const ConstMatrixRef& x)
      : kernel_(kernel), x_(x) {}

  Index size() const { return x_.rows(); }

  void diagonal(Eigen::Ref<Eigen::VectorXd> out) const {
    kernel_.diagonal(x_, out);
  }

  void column(Index j, Eigen::Ref<Eigen::VectorXd> out) const {
    kernel_.block(x_, x_.middleRows(j, 1), out);
  }

 private:
  const Kernel& kernel_;
  ConstMatrixRef x_;
};

class MatrixSource {
 public:
  using Index = Eigen::Index;

  explicit MatrixSource(const ConstMatrixRef& gram) : gram_(gram) {}

  Index size() const { return gram_.rows(); }

  void diagonal(Eigen::Ref<Eigen::VectorXd> out) const {
    out = gram_.diagonal();
  }

  void column(Index j, Eigen::Ref<Eigen::VectorXd> out) const {
    out = gram_.col(j);
  }

 private:
  ConstMatrixRef gram_;
};

}  // namespace kernelbayes
