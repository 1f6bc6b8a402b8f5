#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "prefetch.hpp"

namespace kernelbayes {

namespace detail {

// Below this length a plain loop beats the set-up of a vectorised one.
constexpr int kShort = 8;

/// y -= a * x
inline void subtract(int n, double a, const double* x, double* y) {
  if (n < kShort) {
    for (int i = 0; i < n; ++i) y[i] -= a * x[i];
  } else {
    Eigen::Map<Eigen::VectorXd>(y, n) -=
        a * Eigen::Map<const Eigen::VectorXd>(x, n);
  }
}

/// y -= a[0] x[0] + ... + a[3] x[3], one after another. Two at a time, as in
/// rotate().
inline void subtract_four(int n, const double* a, const double* const* x,
                          double* y) {
  const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const auto less = [=](int i) {
    return y[i] - a0 * x0[i] - a1 * x1[i] - a2 * x2[i] - a3 * x3[i];
  };
  int i = 0;
  for (; i + 2 <= n; i += 2) {
    const double first = less(i), second = less(i + 1);
    y[i] = first;
    y[i + 1] = second;
  }
  if (i < n) y[i] = less(i);
}

/// y = a x
inline void multiply(int n, double a, const double* x, double* y) {
  Eigen::Map<Eigen::VectorXd>(y, n) =
      a * Eigen::Map<const Eigen::VectorXd>(x, n);
}

/// (x, y) <- (c x + s y, c y - s x), a rotation. Two at a time: everything is
/// read before anything is written, so that compilers may use vector
/// instructions although x and y could overlap.
inline void rotate(int n, double c, double s, double* x, double* y) {
  int i = 0;
  for (; i + 2 <= n; i += 2) {
    const double x0 = x[i], x1 = x[i + 1], y0 = y[i], y1 = y[i + 1];
    x[i] = c * x0 + s * y0;
    x[i + 1] = c * x1 + s * y1;
    y[i] = c * y0 - s * x0;
    y[i + 1] = c * y1 - s * x1;
  }
  if (i == n) return;
  const double kept = x[i], moved = y[i];
  x[i] = c * kept + s * moved;
  y[i] = c * moved - s * kept;
}

/// x <- stretch (x - s y), then y <- c y - s x: a hyperbolic rotation, with
/// stretch = 1 / c and c^2 + s^2 = 1.
inline void rotate_less(int n, double c, double s, double stretch, double* x,
                        double* y) {
  int i = 0;
  for (; i + 2 <= n; i += 2) {
    const double y0 = y[i], y1 = y[i + 1];
    const double x0 = stretch * (x[i] - s * y0);
    const double x1 = stretch * (x[i + 1] - s * y1);
    x[i] = x0;
    x[i + 1] = x1;
    y[i] = c * y0 - s * x0;
    y[i + 1] = c * y1 - s * x1;
  }
  if (i == n) return;
  x[i] = stretch * (x[i] - s * y[i]);
  y[i] = c * y[i] - s * x[i];
}

inline double dot(int n, const double* x, const double* y) {
  if (n < kShort) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
  }
  return Eigen::Map<const Eigen::VectorXd>(x, n).dot(
      Eigen::Map<const Eigen::VectorXd>(y, n));
}

}  // namespace detail

/// The lower triangle of a square matrix that grows and shrinks, its columns
/// packed one after another: the data of a particle are read in one stream.
class LowerTriangle {
 public:
  int size() const { return size_; }

  /// column(j)[i] is entry (i, j), for i >= j.
  double* column(int j) { return data_.data() + offset(j, size_); }
  const double* column(int j) const { return data_.data() + offset(j, size_); }
  double& operator()(int i, int j) { return column(j)[i]; }
  double operator()(int i, int j) const { return column(j)[i]; }

  void prefetch() const { kernelbayes::prefetch(data_.data(), data_.size()); }

  /// Changes the size; keeps the entries that exist in both.
  void resize(int n) {
    if (n == size_) return;
    if (n > size_) data_.resize(entries(n));
    if (n > size_) {
      // From the last column: each moves to the right.
      for (int j = size_ - 1; j >= 0; --j) move_column(j, size_, n, size_);
    } else {
      for (int j = 0; j < n; ++j) move_column(j, size_, n, n);
    }
    size_ = n;
  }

  /// Removes row and column i.
  void erase(int i) {
    double* to = data_.data();
    for (int j = 0; j < size_; ++j) {
      if (j == i) continue;
      const double* from = column(j);
      if (j < i) to = std::copy(from + j, from + i, to);
      to = std::copy(from + std::max(i + 1, j), from + size_, to);
    }
    --size_;
  }

 private:
  static std::size_t entries(int n) {
    return static_cast<std::size_t>(n) * (n + 1) / 2;
  }

  // Where column j of a triangle of size n starts, minus j.
  static std::ptrdiff_t offset(int j, int n) {
    return static_cast<std::ptrdiff_t>(j) * (2 * n - j - 1) / 2;
  }

  void move_column(int j, int from_size, int to_size, int rows) {
    std::memmove(data_.data() + offset(j, to_size) + j,
                 data_.data() + offset(j, from_size) + j,
                 (rows - j) * sizeof(double));
  }

  int size_ = 0;
  std::vector<double> data_;
};

/// The Cholesky factor L of a positive definite A = LL' that gains and loses
/// rows, together with z = L^-1 b for one right-hand side b.
///
/// z behaves like one more row of L (the factor of [A b; b' c]), so every
/// update of L carries it along and the residual c - z'z is a pivot.
class Cholesky {
 public:
  int size() const { return factor_.size(); }
  double operator()(int i, int j) const { return factor_(i, j); }
  double z(int i) const { return z_[i]; }
  const std::vector<double>& z() const { return z_; }

  void prefetch() const {
    factor_.prefetch();
    kernelbayes::prefetch(z_.data(), z_.size());
    kernelbayes::prefetch(inverse_diagonal_.data(), z_.size());
  }

  /// False once a pivot was not a finite positive number.
  bool ok() const { return ok_; }

  /// Factors A = gain * gram + ridge * I with right-hand side gain * b plus
  /// `first_shift` in its first entry (a prior mean of that coefficient). In
  /// exact arithmetic no pivot is below the ridge: smaller ones are rounding.
  /// Most of the work is in `subtract_four`, which may be a faster one.
  void factor(
      const LowerTriangle& gram, const double* b, double gain, double ridge,
      double first_shift = 0,
      decltype(detail::subtract_four)* subtract_four = detail::subtract_four) {
    const int p = gram.size();
    resize(p);
    for (int j = 0; j < p; ++j) {
      const double* from = gram.column(j);
      double* to = factor_.column(j);
      detail::multiply(p - j, gain, from + j, to + j);
      to[j] += ridge;
      z_[j] = gain * b[j];
    }
    if (p > 0) z_[0] += first_shift;
    ok_ = true;
    eliminate(ridge, subtract_four);
  }

  /// What a rank-one update changed: log |L_old| - log |L_new| (never
  /// positive) and the residual of the new row's response.
  struct Update {
    double log_shrink;
    double residual;
  };

  /// A += u u', b += v u, from row `first` on (u has size() - first entries
  /// and is overwritten).
  Update rank_one(double* u, double v, int first = 0) {
    const int p = size();
    double shrink = 1, log_shrink = 0;
    for (int j = first; j < p; ++j, ++u) {
      double* column = factor_.column(j);
      const double old = column[j];
      const double pivot = std::sqrt(old * old + *u * *u);
      const double inverse = 1 / pivot;
      const double c = old * inverse, s = *u * inverse;
      column[j] = pivot;
      inverse_diagonal_[j] = inverse;
      detail::rotate(p - j - 1, c, s, column + j + 1, u + 1);
      const double kept = z_[j];
      z_[j] = c * kept + s * v;
      v = c * v - s * kept;
      shrink *= c;
      if (shrink < 1e-150) {
        log_shrink += std::log(shrink);
        shrink = 1;
      }
    }
    log_shrink += std::log(shrink);
    if (!std::isfinite(log_shrink) || !std::isfinite(v)) ok_ = false;
    return {log_shrink, v};
  }

  /// What removing a rank-one term changed: log |L_new| - log |L_old| and the
  /// residual of the row's response given the remaining rows. If the row alone
  /// determined a direction, digits are lost: not `stable`.
  struct Downdate {
    double log_shrink;
    double residual;
    bool stable;
  };

  /// A -= u u', b -= v u (u is overwritten), by hyperbolic rotations.
  Downdate rank_one_less(double* u, double v) {
    constexpr double kLeast = 1e-6;  // of a squared pivot that may remain
    const int p = size();
    double shrink = 1, log_shrink = 0;
    bool stable = true;
    for (int j = 0; j < p; ++j, ++u) {
      double* column = factor_.column(j);
      const double old = column[j];
      const double left = (old - *u) * (old + *u);
      stable = stable && left > kLeast * old * old;
      const double pivot = std::sqrt(std::max(left, kLeast * old * old));
      const double inverse = 1 / pivot;
      const double c = pivot * inverse_diagonal_[j];
      const double s = *u * inverse_diagonal_[j], stretch = old * inverse;
      column[j] = pivot;
      inverse_diagonal_[j] = inverse;
      detail::rotate_less(p - j - 1, c, s, stretch, column + j + 1, u + 1);
      z_[j] = stretch * (z_[j] - s * v);
      v = c * v - s * z_[j];
      shrink *= c;
      if (shrink < 1e-150) {
        log_shrink += std::log(shrink);
        shrink = 1;
      }
    }
    log_shrink += std::log(shrink);
    if (!std::isfinite(log_shrink) || !std::isfinite(v)) ok_ = false;
    return {log_shrink, v, stable};
  }

  /// Appends the row [h', pivot] to L and one entry to z.
  void append(const double* h, double pivot, double z) {
    const int p = size();
    resize(p + 1);
    for (int j = 0; j < p; ++j) factor_(p, j) = h[j];
    factor_(p, p) = pivot;
    inverse_diagonal_[p] = 1 / pivot;
    z_[p] = z;
    if (!(pivot > 0) || !std::isfinite(pivot)) ok_ = false;
  }

  /// Removes row and column i of A: the trailing block of L gains a rank-one
  /// term (a sequence of Givens rotations). `work` has size() entries.
  void erase(int i, double* work) {
    const int p = size();
    const double* column = factor_.column(i);
    std::copy(column + i + 1, column + p, work);
    const double z = z_[i];
    factor_.erase(i);
    z_.erase(z_.begin() + i);
    inverse_diagonal_.erase(inverse_diagonal_.begin() + i);
    rank_one(work, z, i);
  }

  /// A and b become `square` times as large.
  void scale(double square) {
    const double root = std::sqrt(square);
    for (int j = 0; j < size(); ++j) {
      double* column = factor_.column(j) + j;
      detail::multiply(size() - j, root, column, column);
      inverse_diagonal_[j] = 1 / *column;
      z_[j] *= root;
      if (!(*column > 0) || !std::isfinite(z_[j])) ok_ = false;
    }
  }

  /// x <- L^-1 x; entries before `first` must be zero.
  void solve_lower(double* x, int first = 0) const {
    const int p = size();
    for (int j = first; j < p; ++j) {
      x[j] *= inverse_diagonal_[j];
      detail::subtract(p - j - 1, x[j], factor_.column(j) + j + 1, x + j + 1);
    }
  }

  /// x <- L'^-1 x
  void solve_upper(double* x) const {
    const int p = size();
    for (int j = p - 1; j >= 0; --j) {
      const double known =
          detail::dot(p - j - 1, factor_.column(j) + j + 1, x + j + 1);
      x[j] = (x[j] - known) * inverse_diagonal_[j];
    }
  }

  /// log |A| / 2
  double half_log_determinant() const {
    double sum = 0;
    for (int j = 0; j < size(); ++j) sum += std::log(factor_(j, j));
    return sum;
  }

  /// The largest |A - LL'| relative to the diagonal of A, for
  /// A = gain * gram + ridge * I: how far updates have drifted.
  double drift(const LowerTriangle& gram, double gain, double ridge) const {
    double worst = 0;
    for (int j = 0; j < size(); ++j) {
      for (int i = j; i < size(); ++i) {
        double sum = -gain * gram(i, j) - (i == j ? ridge : 0.0);
        for (int l = 0; l <= j; ++l) sum += factor_(i, l) * factor_(j, l);
        const double scale = std::sqrt((gain * gram(i, i) + ridge) *
                                       (gain * gram(j, j) + ridge));
        worst = std::max(worst, std::abs(sum) / scale);
      }
    }
    return worst;
  }

  /// Appends the columns of L one after another, and z: see restore().
  void save(std::vector<double>& columns, std::vector<double>& z) const {
    for (int j = 0; j < size(); ++j) {
      const double* column = factor_.column(j);
      columns.insert(columns.end(), column + j, column + size());
    }
    z.insert(z.end(), z_.begin(), z_.end());
  }

  /// Sets a factor computed earlier (its columns one after another).
  void restore(int p, const double* columns, const double* z) {
    resize(p);
    ok_ = true;
    for (int j = 0; j < p; ++j) {
      for (int i = j; i < p; ++i) factor_(i, j) = *columns++;
      inverse_diagonal_[j] = 1 / factor_(j, j);
      z_[j] = z[j];
      ok_ = ok_ && std::isfinite(inverse_diagonal_[j]) && std::isfinite(z_[j]);
    }
  }

 private:
  void resize(int p) {
    factor_.resize(p);
    z_.resize(p);
    inverse_diagonal_.resize(p);
  }

  // Four columns at a time, so that a later column is read and written once for
  // four; each entry has the same subtractions in the same order.
  template <typename SubtractFour>
  void eliminate(double min_pivot, SubtractFour subtract_four) {
    constexpr int kPanel = 4;
    const int p = size();
    for (int first = 0; first < p; first += kPanel) {
      const int next = std::min(first + kPanel, p);
      for (int j = first; j < next; ++j) {
        scale_column(j, min_pivot);
        for (int l = j + 1; l < next; ++l) subtract_column(j, l);
      }
      for (int l = next; l < p; ++l) subtract_panel(first, l, subtract_four);
    }
  }

  // Column j becomes that of the factor.
  void scale_column(int j, double min_pivot) {
    const int p = size();
    double* column = factor_.column(j);
    if (!std::isfinite(column[j]) || !std::isfinite(z_[j])) ok_ = false;
    if (column[j] < min_pivot) {
      // Below the ridge only rounding is left of this column; division by the
      // small pivot would blow it up.
      column[j] = min_pivot;
      std::fill(column + j + 1, column + p, 0.0);
      z_[j] = 0;
    }
    const double pivot = std::sqrt(column[j]);
    const double inverse = 1 / pivot;
    column[j] = pivot;
    inverse_diagonal_[j] = inverse;
    detail::multiply(p - j - 1, inverse, column + j + 1, column + j + 1);
    z_[j] *= inverse;
  }

  void subtract_column(int j, int l) {
    const double* column = factor_.column(j);
    detail::subtract(size() - l, column[l], column + l, factor_.column(l) + l);
    z_[l] -= column[l] * z_[j];
  }

  template <typename SubtractFour>
  void subtract_panel(int first, int l, SubtractFour subtract_four) {
    double multiples[4];
    const double* columns[4];
    for (int q = 0; q < 4; ++q) {
      columns[q] = factor_.column(first + q) + l;
      multiples[q] = *columns[q];
      z_[l] -= multiples[q] * z_[first + q];
    }
    subtract_four(size() - l, multiples, columns, factor_.column(l) + l);
  }

  LowerTriangle factor_;
  std::vector<double> z_;
  std::vector<double> inverse_diagonal_;
  bool ok_ = true;
};

}  // namespace kernelbayes
