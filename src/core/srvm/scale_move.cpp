#include "scale_move.hpp"

#include <utility>

#include "coef_move.hpp"
#include "latent.hpp"

namespace kernelbayes::srvm {

// (S51).
bool scale_move(Particle& particle, const Model& model,
                const CandidatePool& pool, const Eigen::VectorXd& log_inverse,
                Rng& rng, Particle& to) {
  constexpr double kMost = 100;
  const double u = rng.uniform();
  if ((log_inverse.array().abs() > kMost).any()) return false;
  const double squares = squared_responses(particle, model, pool);
  const auto log_posterior = [&](const Particle& at) {
    return log_marginal(at, model, pool.rows(), squares) +
           model.scales.log_density(at.own.log_inverse());
  };
  to.set = particle.set;
  to.noise = particle.noise;
  to.coef = particle.coef;
  to.squares = particle.squares;
  to.own.use(log_inverse, particle.own.spreads());
  to.own.fill(pool, to.set);
  to.latent = particle.latent;
  sum_up(to, model, pool);
  refactor(to, model);
  if (!to.factor.ok() || !residual_is_valid(to, model, pool)) return false;
  if (!(std::log(u) < log_posterior(to) - log_posterior(particle))) {
    return false;
  }
  std::swap(particle.own, to.own);
  std::swap(particle.gram, to.gram);
  std::swap(particle.rhs, to.rhs);
  std::swap(particle.factor, to.factor);
  return true;
}

}  // namespace kernelbayes::srvm
