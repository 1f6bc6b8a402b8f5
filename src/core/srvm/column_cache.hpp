#pragma once

#include <Eigen/Core>
#include <deque>
#include <kernelbayes/kernel.hpp>
#include <unordered_map>
#include <vector>

namespace kernelbayes {
namespace srvm {

/// Columns K(., x_i) of the kernel matrix of all rows of x, computed when
/// asked for. The oldest are forgotten when there are more than `capacity`:
/// that costs time and changes no result. Not for concurrent use.
class ColumnCache {
 public:
  /// `x` must outlive the cache.
  ColumnCache(Kernel kernel, const Eigen::MatrixXd& x, std::size_t capacity)
      : kernel_(std::move(kernel)), x_(x), capacity_(capacity) {}

  /// Valid until the next trim().
  const double* column(int row);

  void trim();

 private:
  Kernel kernel_;
  const Eigen::MatrixXd& x_;
  std::size_t capacity_;
  std::unordered_map<int, std::vector<double>> columns_;
  std::deque<int> age_;
};

}  // namespace srvm
}  // namespace kernelbayes
