#include "span.hpp"

#include <Eigen/Cholesky>

namespace kernelbayes::kgs {

namespace {

// From derivatives with respect to the Cholesky factor L of A to those with
// respect to A, symmetric, (G43); only the lower triangle of `of_factor` is
// read.
Eigen::MatrixXd cholesky_slope(const Eigen::MatrixXd& factor,
                               const Eigen::MatrixXd& of_factor) {
  Eigen::MatrixXd out =
      factor.triangularView<Eigen::Lower>().transpose() *
      Eigen::MatrixXd(of_factor.triangularView<Eigen::Lower>());
  out.diagonal() *= 0.5;
  Eigen::MatrixXd half = out.triangularView<Eigen::Lower>();
  out = 0.5 * (half + half.transpose());
  factor.transpose().triangularView<Eigen::Upper>().solveInPlace(out);
  factor.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(out);
  return out;
}

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Relative to the diagonal: narrow and wide kernels may both make the matrix
// singular up to rounding.
constexpr double kJitter = 1e-6;

using Rows = Arithmetic::Columns;

// Squared distances of points and pivots; `fixed`: those for bandwidth 1, or
// empty.
MatrixXd squared_distances(const Rows& points, const MatrixXd& pivots,
                           const VectorXd& squares, const Rows& fixed) {
  if (fixed.cols() > 0) return squares[0] * fixed;
  MatrixXd out(points.rows(), pivots.rows());
  for (Index k = 0; k < out.cols(); ++k) {
    const VectorXd pivot = pivots.row(k);
    Arithmetic::best().squared_distances(squares, points, pivot, out.col(k));
  }
  return out;
}

MatrixXd kernel_at(const LearnedKernel& learned, const VectorXd& squares,
                   const Rows& points, const Rows& fixed) {
  const VectorXd ones = VectorXd::Ones(points.rows());
  MatrixXd out = squared_distances(points, learned.pivots, squares, fixed);
  for (Index k = 0; k < out.cols(); ++k) {
    learned.kernel.of_squares(Arithmetic::best(), ones, out.col(k));
  }
  out.array() += learned.bias;
  return out;
}

// weight x the derivative of the kernel with respect to r^2.
MatrixXd square_slopes(const LearnedKernel& learned, const VectorXd& squares,
                       const Rows& points, const Rows& fixed,
                       const MatrixXd& weight) {
  MatrixXd out = squared_distances(points, learned.pivots, squares, fixed);
  for (Index k = 0; k < out.cols(); ++k) {
    for (Index i = 0; i < out.rows(); ++i) {
      out(i, k) = weight(i, k) == 0
                      ? 0
                      : weight(i, k) * learned.kernel.slope(out(i, k));
    }
  }
  return out;
}

// sum_ik weight_ik (x_ij - u_kj)^2 for each predictor j.
VectorXd weighted_squares(const MatrixXd& x, const MatrixXd& u,
                          const MatrixXd& weight) {
  const MatrixXd across = weight * u;
  const VectorXd rows = weight.rowwise().sum();
  const VectorXd columns = weight.colwise().sum();
  return (x.array().square().matrix().transpose() * rows) +
         (u.array().square().matrix().transpose() * columns) -
         2 * x.cwiseProduct(across).colwise().sum().transpose();
}

// Of the same bandwidth, whatever the parameters.
bool is_common(const LearnedKernel& learned) {
  return (learned.offset.array() == learned.offset[0]).all() &&
         learned.design ==
             learned.design.row(0).replicate(learned.design.rows(), 1);
}

}  // namespace

void find_distances(LearnedKernel& learned) {
  if (!is_common(learned)) return;
  const VectorXd ones = VectorXd::Ones(learned.offset.size());
  const auto distances = [&](const MatrixXd& points) {
    return squared_distances(points, learned.pivots, ones, MatrixXd());
  };
  learned.from_points = distances(learned.points);
  learned.from_pivots = distances(learned.pivots);
}

Span::Span(const LearnedKernel& learned, const VectorXd& log_inverse)
    : squares_((2 * log_inverse.array()).exp()) {
  gram_ = kernel_at(learned, squares_, learned.pivots, learned.from_pivots);
  gram_.diagonal().array() += kJitter * (1 + learned.bias);
  factor_ = gram_;
  const Eigen::LLT<Eigen::Ref<MatrixXd>> llt(factor_);
  ok_ = llt.info() == Eigen::Success && factor_.allFinite();
  if (!ok_) return;
  const MatrixXd &points = learned.points, &fixed = learned.from_points;
  kernel_ = RowBlocks(points.rows(), factor_.cols(), [&](Index at, Index n) {
    const auto known =
        fixed.size() > 0 ? fixed.middleRows(at, n) : fixed.middleRows(0, 0);
    return kernel_at(learned, squares_, points.middleRows(at, n), known);
  });
}

MatrixXd Span::features() const {
  MatrixXd out = kernel_.whole();
  if (learned()) {
    factor_.transpose()
        .triangularView<Eigen::Upper>()
        .solveInPlace<Eigen::OnTheRight>(out);
  }
  return out;
}

MatrixXd Span::gram_times(const MatrixXd& u) const {
  return learned() ? Arithmetic::best().products(gram_, u) : u;
}

void Span::add_gram(MatrixXd& to) const {
  if (learned()) {
    to += gram_;
  } else {
    to.diagonal().array() += 1;
  }
}

double Span::log_determinant() const {
  return learned() ? factor_.diagonal().array().log().sum() : 0;
}

MatrixXd Span::factor_times(const MatrixXd& v) const {
  if (!learned()) return v;
  return factor_.triangularView<Eigen::Lower>() * v;
}

MatrixXd Span::to_u(const MatrixXd& w) const {
  MatrixXd out = w;
  if (learned()) {
    factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(out);
  }
  return out;
}

MatrixXd Span::to_w(const MatrixXd& u) const {
  if (!learned()) return u;
  return factor_.transpose().triangularView<Eigen::Upper>() * u;
}

VectorXd Span::left_out(const LearnedKernel& learned) const {
  return (1 + learned.bias - features().rowwise().squaredNorm().array())
      .max(0.0)
      .matrix();
}

VectorXd Span::slope(const LearnedKernel& learned,
                     const MatrixXd& of_features) const {
  // Phi L' = K.
  MatrixXd of_kernel = of_features;
  factor_.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(
      of_kernel);
  const MatrixXd of_factor = -(of_kernel.transpose() * features());
  const MatrixXd of_pivots = cholesky_slope(factor_, of_factor);
  const VectorXd change =
      weighted_squares(learned.points, learned.pivots,
                       square_slopes(learned, squares_, learned.points,
                                     learned.from_points, of_kernel)) +
      weighted_squares(learned.pivots, learned.pivots,
                       square_slopes(learned, squares_, learned.pivots,
                                     learned.from_pivots, of_pivots));
  return 2 * squares_.cwiseProduct(change);
}

}  // namespace kernelbayes::kgs
