#pragma once

namespace kernelbayes {
namespace srvm {

/// Inner products of one column with others, each summed in order.
template <int kLanes>
void dot_lanes(int n, const double* x, const double* const (&columns)[kLanes],
               double* out) {
  double sum[kLanes] = {0};
  for (int s = 0; s < n; ++s) {
    for (int l = 0; l < kLanes; ++l) sum[l] += x[s] * columns[l][s];
  }
  for (int l = 0; l < kLanes; ++l) out[l] = sum[l];
}

}  // namespace srvm
}  // namespace kernelbayes
