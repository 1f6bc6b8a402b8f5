// Orders of sample points that depend on the data and not on their index: they
// break ties between pivots. Indistinguishable points are ordered by index.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernelbayes/kernel_tiles.hpp"

namespace kernelbayes::tie_order {

using Eigen::Index;

inline Eigen::RowVectorXd coordinate_median(const ConstMatrixRef& x) {
  const Index n = x.rows();
  Eigen::RowVectorXd median(x.cols());
  for (Index c = 0; c < x.cols(); ++c) {
    std::vector<double> values(x.col(c).data(), x.col(c).data() + n);
    const auto middle = values.begin() + n / 2;
    std::nth_element(values.begin(), middle, values.end());
    median[c] = *middle;
    if (n % 2 == 0) {
      const double below = *std::max_element(values.begin(), middle);
      median[c] = below + (*middle - below) / 2;
    }
  }
  return median;
}

template <class Before>
std::vector<Index> sorted_indices(Index n, const Before& before) {
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), before);
  return order;
}

// Points: nearest the coordinate-wise median first, then lexicographically.
inline std::vector<Index> of_points(const ConstMatrixRef& x) {
  if (x.rows() == 0) return {};
  const Eigen::MatrixXd median = coordinate_median(x);
  Eigen::MatrixXd distance(x.rows(), 1);
  MatrixRef target(distance);
  tiles::sum_over_columns(
      x, median, tiles::SquaredDifference{}, [](double*, Index) {}, target);
  return sorted_indices(x.rows(), [&](Index a, Index b) {
    if (distance(a) != distance(b)) return distance(a) < distance(b);
    for (Index c = 0; c < x.cols(); ++c) {
      if (x(a, c) != x(b, c)) return x(a, c) < x(b, c);
    }
    return a < b;
  });
}

// Sums of rows in fixed point, so that the order of the columns is immaterial;
// as fine as fits n values of the largest size.
inline std::vector<std::int64_t> row_sums(const ConstMatrixRef& gram) {
  const Index n = gram.rows();
  std::vector<std::int64_t> sums(n, 0);
  const double largest = n == 0 ? 0 : gram.cwiseAbs().maxCoeff();
  if (largest == 0) return sums;
  // In two steps, as one factor may not be a double.
  const double to_one = std::ldexp(1.0, std::min(-std::ilogb(largest), 1000));
  const double to_integer =
      std::ldexp(1.0, 60 - std::ilogb(static_cast<double>(n)));
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      sums[i] += std::llrint(gram(i, j) * to_one * to_integer);
    }
  }
  return sums;
}

// For a Gram matrix alone: the largest row sum first, a central point.
inline std::vector<Index> of_gram(const ConstMatrixRef& gram) {
  const std::vector<std::int64_t> sums = row_sums(gram);
  return sorted_indices(gram.rows(), [&](Index a, Index b) {
    return sums[a] != sums[b] ? sums[a] > sums[b] : a < b;
  });
}

}  // namespace kernelbayes::tie_order
