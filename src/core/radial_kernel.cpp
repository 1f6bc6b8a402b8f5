#include "radial_kernel.hpp"

#include <cmath>

namespace kernelbayes {
namespace {

Arithmetic::Profile profile(RadialKernel::Shape shape) {
  using Shape = RadialKernel::Shape;
  using Profile = Arithmetic::Profile;
  return shape == Shape::kGaussian   ? Profile::kGaussian
         : shape == Shape::kLaplace  ? Profile::kLaplace
         : shape == Shape::kMatern32 ? Profile::kMatern32
                                     : Profile::kMatern52;
}

}  // namespace

void RadialKernel::evaluate(const Arithmetic& arithmetic,
                            const Eigen::VectorXd& squares,
                            Arithmetic::Columns points,
                            Arithmetic::Vector centre,
                            Arithmetic::Vector factors,
                            Eigen::Ref<Eigen::VectorXd> out) const {
  arithmetic.squared_distances(squares, points, centre, out);
  of_squares(arithmetic, factors, out);
}

void RadialKernel::of_squares(const Arithmetic& arithmetic,
                              Arithmetic::Vector factors,
                              Eigen::Ref<Eigen::VectorXd> squares) const {
  if (shape != Shape::kRationalQuadratic) {
    return arithmetic.radial(profile(shape), factors, squares);
  }
  for (Eigen::Index s = 0; s < squares.size(); ++s) {
    squares[s] = factors[s] * std::pow(1 + squares[s] / (2 * alpha), -alpha);
  }
}

double RadialKernel::slope(double square) const {
  const double r = std::sqrt(square);
  switch (shape) {
    case Shape::kGaussian:
      return -0.5 * std::exp(-0.5 * square);
    case Shape::kLaplace:
      return r > 0 ? -0.5 * std::exp(-r) / r : 0;
    case Shape::kMatern32:
      return -1.5 * std::exp(-std::sqrt(3.0) * r);
    case Shape::kMatern52:
      return -5.0 / 6 * (1 + std::sqrt(5.0) * r) *
             std::exp(-std::sqrt(5.0) * r);
    default:
      return -0.5 * std::pow(1 + square / (2 * alpha), -alpha - 1);
  }
}

}  // namespace kernelbayes
