#include "moments.hpp"

namespace kernelbayes::srvm {

void posterior_moments(const Particle& particle, const Model& model,
                       const Eigen::MatrixXd& fixed,
                       const Eigen::MatrixXd& values,
                       const std::vector<int>& column,
                       Eigen::Ref<Eigen::VectorXd> mean,
                       Eigen::Ref<Eigen::VectorXd> variance) {
  // (S15): with u the design row and h = L^-1 u, mean h'z, variance h'h.
  constexpr Eigen::Index kTile = 128;
  const int p = particle.factor.size(), m = static_cast<int>(fixed.cols());
  Eigen::MatrixXd h(kTile, p);
  mean.setConstant(model.shift);
  variance.setZero();
  for (Eigen::Index from = 0; from < values.rows(); from += kTile) {
    const Eigen::Index n = std::min(kTile, values.rows() - from);
    for (int j = 0; j < p; ++j) {
      auto own = h.col(j).head(n);
      if (j < m) {
        own = fixed.col(j).segment(from, n);
      } else {
        const int candidate = particle.set[j - m];
        own = values.col(column[candidate]).segment(from, n);
      }
      for (int l = 0; l < j; ++l) {
        own -= particle.factor(j, l) * h.col(l).head(n);
      }
      own /= particle.factor(j, j);
      mean.segment(from, n) += particle.factor.z(j) * own;
      variance.segment(from, n) += own.cwiseAbs2();
    }
  }
}

}  // namespace kernelbayes::srvm
