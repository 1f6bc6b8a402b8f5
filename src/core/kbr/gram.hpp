#pragma once

#include "../linalg.hpp"

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

}  // namespace kernelbayes::kbr
