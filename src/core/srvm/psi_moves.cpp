#include "psi_moves.hpp"

#include <algorithm>
#include <cmath>

#include "likelihood.hpp"

namespace kernelbayes::srvm {

namespace {

bool move_variance(Particle& particle, double Particle::*which,
                   const VariancePrior& prior, const Model& model,
                   const CandidatePool& pool, double step, Rng& rng) {
  const double value = particle.*which;
  const double squares = squared_responses(particle, model, pool);
  const double log_before =
      log_marginal(particle, model, pool.rows(), squares) +
      prior.log_density(value);
  const Cholesky factor = particle.factor;
  particle.*which *= std::exp(step * rng.normal());
  double log_after = prior.log_density(particle.*which);
  if (std::isfinite(log_after)) {
    refactor(particle, model);
    log_after += log_marginal(particle, model, pool.rows(), squares);
  }
  const double u = rng.uniform();
  if (std::log(u) < log_after - log_before && particle.factor.ok() &&
      residual_is_valid(particle, model, pool)) {
    return true;
  }
  particle.*which = value;
  particle.factor = factor;
  return false;
}

}  // namespace

double log_marginal(const Particle& particle, const Model& model, double rows,
                    double squares) {
  const Cholesky& factor = particle.factor;
  const double log_volume = -factor.half_log_determinant() -
                            0.5 * factor.size() * std::log(particle.coef) -
                            rows * kHalfLogTwoPi;
  if (model.scaled) {
    const double shape = model.noise.shape + 0.5 * rows;
    const double residual =
        Likelihood::residual_squares(particle, model, squares);
    return log_volume + std::lgamma(shape) -
           shape * std::log(model.noise.scale + 0.5 * residual);
  }
  double misfit =
      squares / particle.noise + model.shift * model.shift / particle.coef;
  for (const double z : factor.z()) misfit -= z * z;
  return log_volume - 0.5 * rows * std::log(particle.noise) - 0.5 * misfit;
}

bool coef_move(Particle& particle, const Model& model,
               const CandidatePool& pool, double step, Rng& rng) {
  return move_variance(particle, &Particle::coef, model.coef, model, pool, step,
                       rng);
}

bool noise_move(Particle& particle, const Model& model,
                const CandidatePool& pool, double step, Rng& rng) {
  return move_variance(particle, &Particle::noise, model.noise, model, pool,
                       step, rng);
}

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
