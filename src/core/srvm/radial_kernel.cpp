#include "radial_kernel.hpp"

#include <cmath>

namespace kernelbayes {
namespace srvm {

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
  if (shape != Shape::kRationalQuadratic) {
    return arithmetic.radial(profile(shape), factors, out);
  }
  for (Eigen::Index s = 0; s < out.size(); ++s) {
    out[s] = factors[s] * std::pow(1 + out[s] / (2 * alpha), -alpha);
  }
}

}  // namespace srvm
}  // namespace kernelbayes
