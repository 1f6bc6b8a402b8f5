#pragma once

#include "../linalg.hpp"
#include "kernelbayes/rng.hpp"

namespace kernelbayes::kgs {

inline Eigen::VectorXd normal_vector(Eigen::Index n, Rng& rng) {
  Eigen::VectorXd out(n);
  for (double& v : out) v = rng.normal();
  return out;
}

}  // namespace kernelbayes::kgs
