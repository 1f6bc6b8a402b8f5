#pragma once

#include "state.hpp"

namespace kernelbayes::kgs {

/// A guess at the posterior for large data sets: the vector whose components
/// along the walls fit the labels by least squares, with the expected length
/// under the prior, and the second moments of the normals of the walls near it.
struct Surrogate {
  Eigen::VectorXd mode;
  Eigen::MatrixXd curvature;
};

Surrogate surrogate(const Walls& walls);

}  // namespace kernelbayes::kgs
