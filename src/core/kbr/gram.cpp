#include "gram.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/decompositions.hpp"

namespace kernelbayes::kbr {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr Index block_rows = 512;

// Sum over blocks of rows of R_b' scaled(R_b), where `scaled` returns the right
// factor; only the lower triangle is computed.
template <typename Scaled>
MatrixXd sum_of_blocks(const Features& features, Scaled scaled) {
  const Index n = features.rows(), r = features.cols();
  MatrixXd sum = MatrixXd::Zero(r, r), right;
  if (r == 0) return sum;  // Eigen's product would read from it
  for (Index i = 0; i < n; i += block_rows) {
    const Index rows = std::min(block_rows, n - i);
    const auto block = features.middleRows(i, rows);
    right = scaled(block, i, rows);
    sum.triangularView<Eigen::Lower>() += block.transpose() * right;
  }
  sum.triangularView<Eigen::StrictlyUpper>() = sum.transpose();
  return sum;
}

}  // namespace

MatrixXd weighted_gram(const Features& features,
                       const Eigen::VectorXd& weights) {
  return sum_of_blocks(features,
                       [&](const auto& block, Index i, Index rows) -> MatrixXd {
                         return weights.segment(i, rows).asDiagonal() * block;
                       });
}

MatrixXd weighted_cross(const Features& left, const Features& right,
                        const Eigen::VectorXd& weights) {
  const Index n = left.rows();
  MatrixXd sum = MatrixXd::Zero(left.cols(), right.cols()), scaled;
  for (Index i = 0; i < n; i += block_rows) {
    const Index rows = std::min(block_rows, n - i);
    scaled = weights.segment(i, rows).asDiagonal() * right.middleRows(i, rows);
    sum.noalias() += left.middleRows(i, rows).transpose() * scaled;
  }
  return sum;
}

double weighted_mass(const Features& features, const Eigen::VectorXd& weights) {
  Eigen::ArrayXd squares = Eigen::ArrayXd::Zero(features.rows());
  for (Index j = 0; j < features.cols(); ++j) {
    squares += features.col(j).array().square();
  }
  return (weights.array().abs() * squares.sqrt()).sum();
}

MatrixXd gram(const Features& features) {
  return sum_of_blocks(
      features,
      [](const auto& block, Index, Index) -> MatrixXd { return block; });
}

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

template <typename Function>
Gain spectral_gain(const MatrixXd& gram, Function function) {
  // No features: a kernel that is zero at all points. Eigen would read past the
  // end.
  if (gram.rows() == 0) return {gram, VectorXd(0)};
  const auto [eigenvalues, vectors] = linalg::spectrum(gram);
  const VectorXd values = eigenvalues.unaryExpr(function);
  MatrixXd matrix = MatrixXd::Zero(gram.rows(), gram.cols());
  matrix.triangularView<Eigen::Lower>() +=
      (vectors * values.asDiagonal()) * vectors.transpose();
  matrix.triangularView<Eigen::StrictlyUpper>() = matrix.transpose();
  return {matrix, eigenvalues};
}

}  // namespace

MatrixXd ridge_coefficients(const MatrixXd& gram, const MatrixXd& moments,
                            double ridge) {
  if (gram.rows() == 0) return moments;
  MatrixXd regularised = gram;
  regularised.diagonal().array() += ridge;
  const linalg::PositiveSolver factor(regularised);
  if (!factor.ok()) {
    throw std::runtime_error(
        "the regularised Gram matrix is not positive definite");
  }
  return factor.solve(moments);
}

Gain squared_gain(const MatrixXd& gram, double delta) {
  return spectral_gain(gram, [delta](double d) { return d / (d * d + delta); });
}

Gain ridge_gain(const MatrixXd& gram, double delta) {
  return spectral_gain(gram, [delta](double d) { return 1 / (d + delta); });
}

}  // namespace kernelbayes::kbr
