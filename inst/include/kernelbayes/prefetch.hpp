#pragma once

#include <cstddef>

namespace kernelbayes {

/// Prefetches n values into the cache; does nothing if the compiler does not
/// support it.
template <typename T>
inline void prefetch(const T* values, std::size_t n) {
#if defined(__GNUC__) || defined(__clang__)
  constexpr std::size_t kLine = 64;
  const char* at = reinterpret_cast<const char*>(values);
  const char* end = at + n * sizeof(T);
  for (; at < end; at += kLine) __builtin_prefetch(at);
#else
  (void)values;
  (void)n;
#endif
}

}  // namespace kernelbayes
