#pragma once

#include "core/linalg.hpp"

namespace kernelbayes::kbr {

using Features = Eigen::Ref<const Eigen::MatrixXd>;

/// R' diag(weights) R, symmetric, r x r; weights may be negative. By blocks of
/// rows, without a second matrix of the size of R.
Eigen::MatrixXd weighted_gram(const Features& features,
                              const Eigen::VectorXd& weights);

/// left' diag(weights) right, by blocks of rows.
Eigen::MatrixXd weighted_cross(const Features& left, const Features& right,
                               const Eigen::VectorXd& weights);

/// sum_i |weights_i| |R_i|, R_i the rows of R: a bound on weighted sums of
/// inner products with a unit vector, (K8).
double weighted_mass(const Features& features, const Eigen::VectorXd& weights);

/// R'R.
Eigen::MatrixXd gram(const Features& features);

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
