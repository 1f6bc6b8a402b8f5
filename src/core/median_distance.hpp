#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

namespace kernelbayes {

/// Squared distances of all pairs of rows.
inline std::vector<double> squared_distances(
    const Eigen::Ref<const Eigen::MatrixXd>& points) {
  const Eigen::Index n = points.rows();
  std::vector<double> out(n * (n - 1) / 2);
  double* next = out.data();
  for (Eigen::Index i = 0; i + 1 < n; next += n - ++i) {
    const Eigen::Index rest = n - i - 1;
    Eigen::Map<Eigen::ArrayXd> sum(next, rest);
    sum.setZero();
    for (Eigen::Index c = 0; c < points.cols(); ++c) {
      sum += (points.col(c).tail(rest).array() - points(i, c)).square();
    }
  }
  return out;
}

/// The median distance from squared distances; the mean of the middle two.
inline double root_median(std::vector<double> squares) {
  const auto middle = squares.begin() + squares.size() / 2;
  std::nth_element(squares.begin(), middle, squares.end());
  const double upper = std::sqrt(*middle);
  if (squares.size() % 2 == 1) return upper;
  return (std::sqrt(*std::max_element(squares.begin(), middle)) + upper) / 2;
}

/// Median distance of rows; if that is zero, of distinct rows; 1 if none
/// differ.
inline double median_distance(const Eigen::Ref<const Eigen::MatrixXd>& points) {
  std::vector<double> squares = squared_distances(points);
  if (squares.empty()) return 1;
  const double all = root_median(squares);
  if (all > 0) return all;
  squares.erase(std::remove(squares.begin(), squares.end(), 0.0),
                squares.end());
  return squares.empty() ? 1 : root_median(std::move(squares));
}

}  // namespace kernelbayes
