#pragma once

#include "state.hpp"

namespace kernelbayes {
namespace kgs {

/// A guess at the posterior where data are many: the vector whose components
/// along the walls fit the labels in least squares, of the length that the
/// prior expects, and the second moments of the normals of the walls near it.
struct Surrogate {
  Eigen::VectorXd mode;
  Eigen::MatrixXd curvature;
};

Surrogate surrogate(const Walls& walls);

}  // namespace kgs
}  // namespace kernelbayes
