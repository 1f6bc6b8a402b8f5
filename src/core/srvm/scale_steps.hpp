#pragma once

#include <vector>

#include "particle.hpp"

namespace kernelbayes::srvm {

/// Steps of the logarithms of inverse bandwidths, proposed symmetrically and
/// sized by the particles before any of them moves: (S64).
class ScaleSteps {
 public:
  void size_by(const std::vector<Particle>& particles);
  Eigen::VectorXd from(const Eigen::VectorXd& log_inverse, Rng& rng) const;

 private:
  Eigen::MatrixXd cloud_;   // predictors x particles
  Eigen::VectorXd spread_;  // of each predictor
};

}  // namespace kernelbayes::srvm
