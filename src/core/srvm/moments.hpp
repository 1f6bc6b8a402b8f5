#pragma once

#include "core/linalg.hpp"
#include "particle.hpp"

namespace kernelbayes::srvm {

/// Posterior mean and variance of f at n points given one particle's set and
/// psi (the coefficients integrated out). `fixed` are the model's fixed columns
/// at the points. `values` is n x U: the kernel between the points and the
/// candidates in use; `column[j]` is the column of candidate j.
void posterior_moments(const Particle& particle, const Model& model,
                       const Eigen::MatrixXd& fixed,
                       const Eigen::MatrixXd& values,
                       const std::vector<int>& column,
                       Eigen::Ref<Eigen::VectorXd> mean,
                       Eigen::Ref<Eigen::VectorXd> variance);

/// Of each centre: the sum of squares over the rows of what the posterior mean
/// of f changes by if the coefficient is 0, (S67). Rows count by their weight
/// in the particle.
Eigen::VectorXd centre_changes(const Particle& particle, bool scaled);

/// The design of m new points, which are no candidates, for one particle: its p
/// columns are the fixed ones, then kernels at the centres, in their order.
struct NewPoints {
  Eigen::MatrixXd at_design;    // m x p: of the points
  Eigen::MatrixXd rows_design;  // t x p: of the rows
  Eigen::MatrixXd rows_points;  // t x m: kernels of the rows with the points
  Eigen::VectorXd self;         // m: of the points with themselves
};

/// Responses as the model sees them, minus its shift and times roots of
/// weights.
struct SeenRows {
  Eigen::VectorXd y, roots;
};

/// Values of the spread of a point that is itself a centre, and their
/// probabilities: one value of 1, or a rule for the integral over it, (S66).
struct SpreadRule {
  Eigen::VectorXd value, probability;
};

/// f at new points given one particle: normal with these moments for the set as
/// it is (the first) and for the set with the point, by its spread; and log
/// weights of all, up to what all particles have in common.
struct NewMoments {
  Eigen::Ref<Eigen::VectorXd> mean, variance, log_weight;
};

/// (S62), (S63), each point on its own. `step` is that of the prior to one more
/// candidate; `noise` the particle's, in the scaled form a draw of it.
void moments_at_new(const Particle& particle, const Model& model,
                    const PriorStep& step, const SeenRows& rows,
                    const NewPoints& points, const SpreadRule& rule,
                    double noise, std::vector<NewMoments> out);

}  // namespace kernelbayes::srvm
