#include "operators.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <stdexcept>

namespace kernelbayes {
namespace kbr {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

template <typename Function>
Gain spectral_gain(const MatrixXd& gram, Function function) {
  // No features: a kernel that is zero at all points. Eigen would read none.
  if (gram.rows() == 0) return {gram, VectorXd(0)};
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(gram);
  if (eigen.info() != Eigen::Success) {
    throw std::runtime_error("the eigenvalues of the features were not found");
  }
  const MatrixXd& vectors = eigen.eigenvectors();
  const VectorXd values = eigen.eigenvalues().unaryExpr(function);
  MatrixXd matrix = MatrixXd::Zero(gram.rows(), gram.cols());
  matrix.triangularView<Eigen::Lower>() +=
      (vectors * values.asDiagonal()) * vectors.transpose();
  matrix.triangularView<Eigen::StrictlyUpper>() = matrix.transpose();
  return {matrix, eigen.eigenvalues()};
}

}  // namespace

MatrixXd ridge_coefficients(const MatrixXd& gram, const MatrixXd& moments,
                            double ridge) {
  if (gram.rows() == 0) return moments;
  MatrixXd regularised = gram;
  regularised.diagonal().array() += ridge;
  const Eigen::LLT<MatrixXd> factor(regularised);
  if (factor.info() != Eigen::Success) {
    throw std::runtime_error("the regularised Gram matrix is not positive");
  }
  return factor.solve(moments);
}

Gain squared_gain(const MatrixXd& gram, double delta) {
  return spectral_gain(gram, [delta](double d) { return d / (d * d + delta); });
}

Gain ridge_gain(const MatrixXd& gram, double delta) {
  return spectral_gain(gram, [delta](double d) { return 1 / (d + delta); });
}

}  // namespace kbr
}  // namespace kernelbayes
