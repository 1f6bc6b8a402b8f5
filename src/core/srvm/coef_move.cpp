#include "coef_move.hpp"

#include <cmath>

#include "likelihood.hpp"

namespace kernelbayes {
namespace srvm {

namespace {

// Prior of log coef.
double log_prior(const VariancePrior& prior, double coef) {
  if (coef < prior.lower || coef > prior.upper) return -HUGE_VAL;
  return -prior.shape * std::log(coef) - prior.scale / coef;
}

}  // namespace

double log_marginal(const Particle& particle, const Model& model, double rows,
                    double squares) {
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  const Cholesky& factor = particle.factor;
  const double volume = -factor.half_log_determinant() -
                        0.5 * factor.size() * std::log(particle.coef) -
                        rows * kHalfLogTwoPi;
  if (model.scaled) {
    const double shape = model.noise.shape + 0.5 * rows;
    const double residual =
        Likelihood::residual_squares(particle, model, squares);
    return volume + std::lgamma(shape) -
           shape * std::log(model.noise.scale + 0.5 * residual);
  }
  double misfit =
      squares / particle.noise + model.shift * model.shift / particle.coef;
  for (const double z : factor.z()) misfit -= z * z;
  return volume - 0.5 * rows * std::log(particle.noise) - 0.5 * misfit;
}

bool coef_move(Particle& particle, const Model& model,
               const CandidatePool& pool, double step, Rng& rng) {
  const double coef = particle.coef;
  const double squares = squared_responses(particle, model, pool);
  const double before = log_marginal(particle, model, pool.rows(), squares) +
                        log_prior(model.coef, coef);
  const Cholesky factor = particle.factor;
  particle.coef *= std::exp(step * rng.normal());
  double after = log_prior(model.coef, particle.coef);
  if (std::isfinite(after)) {
    refactor(particle, model);
    after += log_marginal(particle, model, pool.rows(), squares);
  }
  const double u = rng.uniform();
  if (std::log(u) < after - before && particle.factor.ok() &&
      residual_is_valid(particle, model, pool)) {
    return true;
  }
  particle.coef = coef;
  particle.factor = factor;
  return false;
}

}  // namespace srvm
}  // namespace kernelbayes
