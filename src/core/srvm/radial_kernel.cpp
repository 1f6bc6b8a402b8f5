#include "radial_kernel.hpp"

#include <cmath>

namespace kernelbayes {
namespace srvm {

void RadialKernel::evaluate(const Arithmetic& arithmetic,
                            const Eigen::VectorXd& squares,
                            const Eigen::MatrixXd& x, Eigen::Index from,
                            const Eigen::RowVectorXd& centre,
                            Eigen::Ref<Eigen::VectorXd> out) const {
  out.setZero();
  for (Eigen::Index l = 0; l < x.cols(); ++l) {
    arithmetic.add_squares(squares[l], x.col(l).segment(from, out.size()),
                           centre[l], out);
  }
  apply(arithmetic, out);
}

// From r^2 in place.
void RadialKernel::apply(const Arithmetic& arithmetic,
                         Eigen::Ref<Eigen::VectorXd> s) const {
  const auto decay = [&](double factor) {
    s.array() = (factor * s.array()).sqrt();
    Eigen::VectorXd out(s.size());
    arithmetic.exp_minus(s, out);
    return out;
  };
  if (shape == Shape::kGaussian) {
    s *= 0.5;
    const Eigen::VectorXd r = s;
    arithmetic.exp_minus(r, s);
  } else if (shape == Shape::kLaplace) {
    s = decay(1);
  } else if (shape == Shape::kMatern32) {
    const Eigen::VectorXd e = decay(3);
    s.array() = (1 + s.array()) * e.array();
  } else if (shape == Shape::kMatern52) {
    const Eigen::VectorXd e = decay(5);
    s.array() = (1 + s.array() + s.array().square() / 3) * e.array();
  } else {
    for (double& v : s) v = std::pow(1 + v / (2 * alpha), -alpha);
  }
}

}  // namespace srvm
}  // namespace kernelbayes
