#include "logistic.hpp"

namespace kernelbayes {
namespace bark {

using Array = Eigen::ArrayXd;

Array exp_minus_size(const Arithmetic& arithmetic, const Array& t) {
  const Eigen::VectorXd size = t.abs();
  Eigen::MatrixXd out(size.size(), 1);
  arithmetic.exp_minus(size, out);
  return out.col(0);
}

Array exp_minus(const Arithmetic& arithmetic, const Array& t) {
  const Array small = exp_minus_size(arithmetic, t);
  return (t > 0).select(small, 1 / small);
}

Logistic::Logistic(const Arithmetic& arithmetic, const Array& t) {
  const Array small = exp_minus_size(arithmetic, t);
  const Array sum = 1 + small;
  p = (t > 0).select(1 / sum, small / sum);
  variance = small / sum.square();
  log_sum = t.max(0) + sum.log();
}

}  // namespace bark
}  // namespace kernelbayes
