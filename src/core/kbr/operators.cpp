#include "operators.hpp"

#include <stdexcept>

#include "../decompositions.hpp"

namespace kernelbayes::kbr {

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
