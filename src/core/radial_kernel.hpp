#pragma once

#include "arithmetic.hpp"

namespace kernelbayes {
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

  /// The kernel between points (rows) and a centre, times a factor of each
  /// point; `squares` are those of w. Each value has the same bits whatever the
  /// other points, and if point and centre are exchanged.
  void evaluate(const Arithmetic& arithmetic, const Eigen::VectorXd& squares,
                Arithmetic::Columns points, Arithmetic::Vector centre,
                Arithmetic::Vector factors,
                Eigen::Ref<Eigen::VectorXd> out) const;

  /// The same from r^2, in place.
  void of_squares(const Arithmetic& arithmetic, Arithmetic::Vector factors,
                  Eigen::Ref<Eigen::VectorXd> squares) const;

  /// The derivative of the kernel with respect to r^2, at r^2 > 0.
  double slope(double square) const;
};

}  // namespace kernelbayes
