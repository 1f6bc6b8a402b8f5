#pragma once

#include "gram.hpp"

namespace kernelbayes::kbr {

/// S (S^2 + delta I)^-1 phi for a symmetric S, (K21). By a Cholesky factor of
/// the square, with iterative refinement to recover lost digits; if too many
/// are lost, by least squares.
Eigen::VectorXd squared_solve(const Eigen::MatrixXd& gram, double delta,
                              const Eigen::VectorXd& phi);

/// A posterior of the state: weights mu * (B a) / sum on the sample.
struct Posterior {
  Eigen::VectorXd a;         // along the features B of what is observed
  Eigen::VectorXd features;  // of the state: P' weights
  double sum;                // of the raw weights
};

/// Kernel Bayes' rule with the prior's weights mu = P c, (K19): O(n r^2). Also
/// the previous state given features phi of the next, (K25) and (K26): pairs of
/// features P and B of successive states and weights mu of the former.
/// @param squared false for the importance-weighted form, D = max(mu, 0).
/// @param normalised Is D divided by its sum?
Posterior update(const Features& p, const Features& b, const Eigen::VectorXd& c,
                 const Eigen::VectorXd& phi, double delta, bool squared,
                 bool normalised);

/// The same (squared form) from moments of the sample, (K20), O(r^3) for any n:
/// t, sum_i p_ik b_ij b_il, a column per k, the lower triangle of (j, l) by
/// columns; u, the same with p and b exchanged; v = P'B.
Posterior update_by_moments(const Eigen::Ref<const Eigen::MatrixXd>& t,
                            const Eigen::Ref<const Eigen::MatrixXd>& u,
                            const Eigen::Ref<const Eigen::MatrixXd>& v,
                            const Eigen::VectorXd& c,
                            const Eigen::VectorXd& phi, double delta);

/// The previous state, from its posterior without the later observations,
/// features s and weights w (sum 1), and the change that these observations
/// made to the features of the next state. Weights are w + D (N - 1 m') a with
/// D = max(w, 0) over its sum, m = N'D1 and a = (N'DN - m m' + delta I)^-1
/// change, (K24): their sum is 1.
Posterior correct(const Features& p, const Features& n,
                  const Eigen::VectorXd& s, const Eigen::VectorXd& w,
                  const Eigen::VectorXd& change, double delta);

}  // namespace kernelbayes::kbr
