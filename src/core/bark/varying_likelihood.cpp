#include "varying_likelihood.hpp"

#include <cmath>

#include "kernelbayes/constants.hpp"

namespace kernelbayes {
namespace bark {

Eigen::ArrayXd exp_minus(const Arithmetic& arithmetic,
                         const Eigen::ArrayXd& t) {
  const Eigen::VectorXd size = t.abs();
  Eigen::MatrixXd small(size.size(), 1);
  arithmetic.exp_minus(size, small);
  return (t > 0).select(small.array().col(0), small.array().col(0).inverse());
}

LogVariance::LogVariance(const Data& data)
    : arithmetic_(*data.arithmetic),
      half_square_(0.5 * data.y.array().square()) {
  constant_ = -0.5 * kLogTwoPi * static_cast<double>(data.y.size());
}

Eigen::VectorXd LogVariance::simulate(const Eigen::VectorXd& f,
                                      Rng& rng) const {
  Eigen::VectorXd out(f.size());
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    out[i] = std::exp(0.5 * f[i]) * rng.normal();
  }
  return out;
}

GlmLikelihood::Rows LogVariance::rows(const Eigen::VectorXd& f) const {
  const Eigen::ArrayXd part = half_square_ * exp_minus(arithmetic_, f.array());
  return {-0.5 * f.array() - part, part - 0.5, part};
}

}  // namespace bark
}  // namespace kernelbayes
