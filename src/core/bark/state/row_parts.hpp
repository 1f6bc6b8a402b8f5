#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <kernelbayes/parallel.hpp>
#include <vector>

namespace kernelbayes::bark {

/// Rows in parts of a fixed length, which the threads of a chain share. Sums
/// are added part by part, so that they do not depend on the threads.
class RowParts {
 public:
  RowParts(Eigen::Index n, Eigen::Index length) : n_(n), length_(length) {}
  Eigen::Index count() const { return (n_ + length_ - 1) / length_; }
  Eigen::Index first(Eigen::Index part) const { return part * length_; }
  Eigen::Index rows(Eigen::Index part) const {
    return std::min(length_, n_ - first(part));
  }

  /// sum_part f(first, rows), where f may use `memory`, a copy per thread.
  template <class Memory, class Sum, class F>
  Sum add(const Executor& executor, const Memory& memory, Sum zero,
          const F& f) const {
    std::vector<Sum> sums(count(), zero);
    executor(sums.size(), [&](std::size_t begin, std::size_t end) {
      Memory own = memory;
      for (; begin < end; ++begin) {
        sums[begin] = f(first(begin), rows(begin), own);
      }
    });
    for (const Sum& sum : sums) zero += sum;
    return zero;
  }

 private:
  Eigen::Index n_, length_;
};

}  // namespace kernelbayes::bark
