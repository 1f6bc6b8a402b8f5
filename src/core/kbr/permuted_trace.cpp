#include "permuted_trace.hpp"

namespace kernelbayes::kbr {

using Eigen::Index;

Eigen::VectorXd permuted_trace(
    const Eigen::Ref<const Eigen::MatrixXd>& a,
    const Eigen::Ref<const Eigen::MatrixXd>& b,
    const Eigen::Ref<const Eigen::MatrixXi>& permutations) {
  const Index n = a.rows();
  Eigen::VectorXd out(permutations.cols());
  for (Index k = 0; k < permutations.cols(); ++k) {
    const int* p = permutations.col(k).data();
    double diagonal = 0, above = 0;
    for (Index j = 0; j < n; ++j) {
      const double* a_j = a.col(j).data();
      const double* b_j = b.col(p[j]).data();
      double sum = 0;
      for (Index i = 0; i < j; ++i) sum += a_j[i] * b_j[p[i]];
      above += sum;
      diagonal += a_j[j] * b_j[p[j]];
    }
    out[k] = diagonal + 2 * above;
  }
  return out;
}

}  // namespace kernelbayes::kbr
