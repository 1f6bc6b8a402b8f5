#include "isotonic.hpp"

#include <vector>

namespace kernelbayes::kbr {

namespace {

struct Pool {
  double sum;
  Eigen::Index size;
  double mean() const { return sum / static_cast<double>(size); }
};

}  // namespace

Eigen::VectorXd isotonic(const Eigen::Ref<const Eigen::VectorXd>& values) {
  std::vector<Pool> pools;
  for (const double value : values) {
    Pool last{value, 1};
    while (!pools.empty() && pools.back().mean() >= last.mean()) {
      last.sum += pools.back().sum;
      last.size += pools.back().size;
      pools.pop_back();
    }
    pools.push_back(last);
  }
  Eigen::VectorXd out(values.size());
  Eigen::Index at = 0;
  for (const Pool& pool : pools) {
    out.segment(at, pool.size).setConstant(pool.mean());
    at += pool.size;
  }
  return out;
}

}  // namespace kernelbayes::kbr
