#include "decompositions.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <stdexcept>

namespace kernelbayes::linalg {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Spectrum spectrum(const MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  if (solver.info() != Eigen::Success) {
    throw std::runtime_error("the eigenvalues did not converge");
  }
  return {solver.eigenvalues(), solver.eigenvectors()};
}

PositiveSolver::PositiveSolver(const MatrixXd& matrix) : llt_(matrix) {}

VectorXd PositiveSolver::solve(const VectorXd& right) const {
  return llt_.solve(right);
}

MatrixXd PositiveSolver::solve(const MatrixXd& right) const {
  return llt_.solve(right);
}

bool factorise(MatrixXd& matrix, double smallest_pivot) {
  const VectorXd diagonal = matrix.diagonal();
  const Eigen::LLT<Eigen::Ref<MatrixXd>> llt(matrix);
  const auto pivots = matrix.diagonal().array().square();
  // Written so that NaN fails.
  return llt.info() == Eigen::Success && diagonal.allFinite() &&
         (pivots / diagonal.array()).minCoeff() >= smallest_pivot;
}

Orthogonal orthogonalise(const MatrixXd& a, const VectorXd& b) {
  const Eigen::Index m = a.cols();
  const Eigen::HouseholderQR<MatrixXd> qr(a);
  Orthogonal out;
  out.upper = qr.matrixQR().topRows(m).triangularView<Eigen::Upper>();
  out.z = (qr.householderQ().transpose() * b).head(m);
  for (Eigen::Index j = 0; j < m; ++j) {
    if (out.upper(j, j) >= 0) continue;
    out.upper.row(j) *= -1;
    out.z[j] *= -1;
  }
  return out;
}

}  // namespace kernelbayes::linalg
