#pragma once

#include <cstddef>
#include <functional>

namespace kernelbayes {

/// Calls body(begin, end) on ranges that cover 0..n-1, possibly at the same
/// time. The core is given one of these and never creates threads itself; a
/// body may write only to data of its own range.
using Executor = std::function<void(
    std::size_t n, const std::function<void(std::size_t, std::size_t)>& body)>;

inline Executor serial_executor() {
  return [](std::size_t n,
            const std::function<void(std::size_t, std::size_t)>& body) {
    body(0, n);
  };
}

}  // namespace kernelbayes
