#include "noise_draw.hpp"

#include <algorithm>

namespace kernelbayes::srvm {

namespace {

bool inside(const VariancePrior& prior, double value) {
  return value >= prior.lower && value <= prior.upper;
}

}  // namespace

// (S52). A and its right-hand side change by a factor only.
void noise_draw(Particle& particle, const Model& model,
                const CandidatePool& pool, Rng& rng) {
  const double ratio = particle.coef / particle.noise;
  double explained = 0;
  for (const double z : particle.factor.z()) explained += z * z;
  const double residual = squared_responses(particle, model, pool) +
                          model.shift * model.shift / ratio -
                          particle.noise * explained;
  const double noise =
      rng.inverse_gamma(model.noise.shape + model.coef.shape + pool.rows() / 2,
                        model.noise.scale + model.coef.scale / ratio +
                            std::max(residual, 0.0) / 2);
  // Metropolis: the target is cut off at the bounds.
  if (!inside(model.noise, noise)) return;
  if (!inside(model.coef, ratio * noise)) return;
  particle.factor.scale(particle.noise / noise);
  particle.noise = noise;
  particle.coef = ratio * noise;
}

}  // namespace kernelbayes::srvm
