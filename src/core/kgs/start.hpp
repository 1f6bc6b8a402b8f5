#pragma once

#include "kernelbayes/rng.hpp"
#include "ledger.hpp"

namespace kernelbayes::kgs {

/// A state without wrong labels, or false if none was found: Newton's method
/// for squared hinge losses with random margins and a vanishing penalty, which
/// finds one if the labels can be separated (up to rounding).
bool separate(const Walls& walls, State& state, Rng& rng);

/// A guess at the posterior for large data sets: the vector whose components
/// along the walls fit the labels by least squares, with the expected length
/// under the prior, and the second moments of the normals of the walls near it.
struct Surrogate {
  Eigen::VectorXd mode;
  Eigen::MatrixXd curvature;
};

Surrogate surrogate(const Walls& walls);

}  // namespace kernelbayes::kgs
