#include "logistic.hpp"

namespace kernelbayes::bark {

using Array = Eigen::ArrayXd;

Array exp_minus(const Arithmetic& arithmetic, const Array& t) {
  Array out(t.size());
  arithmetic.exp_minus(t.matrix(), out.matrix());
  return out;
}

Logistic::Logistic(const Arithmetic& arithmetic, const Array& t)
    : p(t.size()), variance(t.size()), log_sum(t.size()) {
  arithmetic.logistic(t.matrix(), p.matrix(), variance.matrix(),
                      log_sum.matrix());
}

}  // namespace kernelbayes::bark
