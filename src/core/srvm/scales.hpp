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

/// A Metropolis step to these inverse bandwidths, proposed symmetrically in
/// their logarithms, with the coefficients integrated out: (S51). True if it
/// was accepted. `spare` is room for the particle that is proposed.
bool scale_move(Particle& particle, const Model& model,
                const CandidatePool& pool, const Eigen::VectorXd& log_inverse,
                Rng& rng, Particle& spare);

inline bool scale_move(Particle& particle, const Model& model,
                       const CandidatePool& pool,
                       const Eigen::VectorXd& log_inverse, Rng& rng) {
  Particle spare;
  return scale_move(particle, model, pool, log_inverse, rng, spare);
}

}  // namespace kernelbayes::srvm
