#pragma once

#include "../linalg.hpp"

namespace kernelbayes::kbr {

/// (gram + ridge I)^-1 moments: coefficients of kernel ridge regression on
/// features whose Gram matrix is given. If the moments are the kernel mean of
/// the prior, this is the kernel sum rule, (K3); weights of the sample are R
/// times the result.
Eigen::MatrixXd ridge_coefficients(const Eigen::MatrixXd& gram,
                                   const Eigen::MatrixXd& moments,
                                   double ridge);

/// The r x r symmetric matrix that maps the features of an observation to the
/// coefficients of the posterior's weights; and the eigenvalues it is made
/// from.
struct Gain {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd spectrum;  // of the weighted Gram matrix, increasing
};

/// S (S^2 + delta I)^-1 of a symmetric, indefinite S, (K5), by its
/// eigenvectors: a Cholesky factor of S^2 + delta I would lose half the digits.
Gain squared_gain(const Eigen::MatrixXd& gram, double delta);

/// (S + delta I)^-1 of a positive semidefinite S: the importance-weighted form,
/// (K6).
Gain ridge_gain(const Eigen::MatrixXd& gram, double delta);

}  // namespace kernelbayes::kbr
