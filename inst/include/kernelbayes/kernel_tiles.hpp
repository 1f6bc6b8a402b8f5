// Sums over columns, the inner loop of every kernel:
//   out(i, j) = sum_c term(x(i, c), y(j, c), c).
//
// An entry has the same bits whichever block it is computed in: columns are
// added in index order, and every row, also in a short last tile, goes through
// the same arithmetic on a fixed number of lanes. A scalar tail would not work:
// compilers may contract it to fused multiply-adds differently.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

namespace kernelbayes {

// Rows are points. Pass one point as x.middleRows(i, 1): x.row(i) has an
// inner stride, and Eigen would copy it.
using ConstMatrixRef =
    Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using MatrixRef = Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

namespace tiles {

using Eigen::Index;

constexpr int n_lanes = 4;
constexpr int n_columns = 4;
constexpr Index n_rows = 128;  // rows of x kept in cache for all of y
using Lanes = Eigen::Array<double, n_lanes, 1>;

// Terms: x is a tile of rows, y a number (block) or another tile (diagonal).
struct SquaredDifference {
  template <class Y>
  Lanes operator()(const Lanes& x, const Y& y, Index) const {
    return (x - y).square();
  }
};

// (factor[c * step] (x - y))^2
struct ScaledSquaredDifference {
  const double* factor;
  Index step;
  template <class Y>
  Lanes operator()(const Lanes& x, const Y& y, Index c) const {
    return ((x - y) * factor[c * step]).square();
  }
};

struct Product {
  template <class Y>
  Lanes operator()(const Lanes& x, const Y& y, Index) const {
    return x * y;
  }
};

// factor[c * step] sin^2(frequency (x - y))
struct SquaredSine {
  double frequency;
  const double* factor;
  Index step;
  Lanes operator()(const Lanes& x, double y, Index c) const {
    const Lanes angle = (x - y).abs() * frequency;
    return angle.unaryExpr([](double a) { return std::sin(a); }).square() *
           factor[c * step];
  }
};

template <bool Full>
inline Lanes load(const double* from, Index n) {
  if (Full) return Eigen::Map<const Lanes>(from);
  Lanes lanes = Lanes::Zero();
  for (Index i = 0; i < n; ++i) lanes[i] = from[i];
  return lanes;
}

template <bool Full>
inline void store(const Lanes& lanes, double* to, Index n) {
  if (Full) {
    Eigen::Map<Lanes> target(to);
    target = lanes;
  } else {
    for (Index i = 0; i < n; ++i) to[i] = lanes[i];
  }
}

// At most n_lanes rows against sizeof...(Q) points; the folds keep the sums in
// registers at -O2.
template <bool Full, class Term, std::size_t... Q>
inline void tile(const double* x, Index x_stride, Index n, const double* y,
                 Index y_stride, Index d, const Term& term, double* out,
                 Index out_stride, std::index_sequence<Q...>) {
  Lanes sum[sizeof...(Q)];
  ((sum[Q] = Lanes::Zero()), ...);
  for (Index c = 0; c < d; ++c) {
    const Lanes lanes = load<Full>(x + c * x_stride, n);
    const double* point = y + c * y_stride;
    ((sum[Q] += term(lanes, point[Q], c)), ...);
  }
  (store<Full>(sum[Q], out + Q * out_stride, n), ...);
}

// n rows of x against a few points of y, then finish(column, n) on each column.
template <std::size_t Q, class Term, class Finish>
inline void strip(const double* x, Index x_stride, Index n, const double* y,
                  Index y_stride, Index d, const Term& term,
                  const Finish& finish, double* out, Index out_stride) {
  const auto points = std::make_index_sequence<Q>();
  Index i = 0;
  for (; i + n_lanes <= n; i += n_lanes) {
    tile<true>(x + i, x_stride, n_lanes, y, y_stride, d, term, out + i,
               out_stride, points);
  }
  if (i < n) {
    tile<false>(x + i, x_stride, n - i, y, y_stride, d, term, out + i,
                out_stride, points);
  }
  for (std::size_t q = 0; q < Q; ++q) finish(out + q * out_stride, n);
}

template <class Term, class Finish>
void sum_over_columns(const ConstMatrixRef& x, const ConstMatrixRef& y,
                      const Term& term, const Finish& finish, MatrixRef& out) {
  const Index x_stride = x.outerStride(), y_stride = y.outerStride();
  const Index out_stride = out.outerStride(), d = x.cols();
  for (Index i = 0; i < x.rows(); i += n_rows) {
    const Index n = std::min(n_rows, x.rows() - i);
    const double* rows = x.data() + i;
    Index j = 0;
    for (; j + n_columns <= y.rows(); j += n_columns) {
      strip<n_columns>(rows, x_stride, n, y.data() + j, y_stride, d, term,
                       finish, out.data() + i + j * out_stride, out_stride);
    }
    for (; j < y.rows(); ++j) {
      strip<1>(rows, x_stride, n, y.data() + j, y_stride, d, term, finish,
               out.data() + i + j * out_stride, out_stride);
    }
  }
}

// out(i) = sum_c term(x(i, c), x(i, c), c), the same bits as in a block.
template <class Term>
void sum_on_diagonal(const ConstMatrixRef& x, const Term& term, double* out) {
  for (Index i = 0; i < x.rows(); i += n_lanes) {
    const Index n = std::min<Index>(n_lanes, x.rows() - i);
    Lanes sum = Lanes::Zero();
    for (Index c = 0; c < x.cols(); ++c) {
      const Lanes lanes = load<false>(x.data() + i + c * x.outerStride(), n);
      sum += term(lanes, lanes, c);
    }
    store<false>(sum, out + i, n);
  }
}

}  // namespace tiles
}  // namespace kernelbayes
