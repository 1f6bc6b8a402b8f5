#pragma once

#include <Eigen/Cholesky>

#include "linalg.hpp"

// Eigen's decompositions, compiled once. For symmetric matrices only the lower
// triangle is read.

namespace kernelbayes::linalg {

/// Eigenvalues in increasing order, and eigenvectors as columns.
struct Spectrum {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

/// Throws std::runtime_error on failure.
Spectrum spectrum(const Eigen::MatrixXd& symmetric);

/// Equations with a positive definite matrix.
class PositiveSolver {
 public:
  explicit PositiveSolver(const Eigen::MatrixXd& matrix);

  /// Whether it is positive definite.
  bool ok() const { return llt_.info() == Eigen::Success; }

  Eigen::VectorXd solve(const Eigen::VectorXd& right) const;
  Eigen::MatrixXd solve(const Eigen::MatrixXd& right) const;

 private:
  Eigen::LLT<Eigen::MatrixXd> llt_;
};

/// Replaces the lower triangle by the Cholesky factor; false if the matrix is
/// not positive definite, or so nearly singular that the square of a pivot is
/// below this share of the diagonal: the factor has then lost as many digits.
bool factorise(Eigen::MatrixXd& matrix, double smallest_pivot = 1e-9);

/// The triangular factor R, its diagonal positive, and R'^-1 A'b.
struct Orthogonal {
  Eigen::MatrixXd upper;
  Eigen::VectorXd z;
};

Orthogonal orthogonalise(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace kernelbayes::linalg
