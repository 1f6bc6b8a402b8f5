#pragma once

#include "../arithmetic.hpp"

namespace kernelbayes {
namespace srvm {

/// A kernel that depends on r^2 = sum_l w_l^2 (x_l - c_l)^2 alone, with inverse
/// bandwidths w that are learned.
struct RadialKernel {
  enum class Shape {
    kGaussian,
    kLaplace,
    kMatern32,
    kMatern52,
    kRationalQuadratic
  };
  Shape shape = Shape::kGaussian;
  double alpha = 1;  // of the rational quadratic

  /// The kernel between rows `from`, ... of x and a point, `squares` being
  /// those of w. Each value has the same bits whatever the other rows.
  void evaluate(const Arithmetic& arithmetic, const Eigen::VectorXd& squares,
                const Eigen::MatrixXd& x, Eigen::Index from,
                const Eigen::RowVectorXd& centre,
                Eigen::Ref<Eigen::VectorXd> out) const;

 private:
  void apply(const Arithmetic& arithmetic, Eigen::Ref<Eigen::VectorXd> s) const;
};

}  // namespace srvm
}  // namespace kernelbayes
