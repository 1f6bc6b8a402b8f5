#include "scales.hpp"

#include <cmath>
#include <utility>

#include "latent.hpp"
#include "psi_moves.hpp"

namespace kernelbayes::srvm {

void ScaleSteps::size_by(const std::vector<Particle>& particles) {
  // Particles that are copies of one must part again.
  constexpr double kLeast = 0.1;
  const auto n = static_cast<Eigen::Index>(particles.size());
  cloud_.resize(particles.front().own.log_inverse().size(), n);
  for (Eigen::Index i = 0; i < n; ++i) {
    cloud_.col(i) = particles[i].own.log_inverse();
  }
  const Eigen::VectorXd mean = cloud_.rowwise().mean();
  spread_ = (cloud_.colwise() - mean)
                .array()
                .square()
                .rowwise()
                .mean()
                .sqrt()
                .max(kLeast);
}

// (S64). The right size depends on the particle's set, so there are steps of
// many sizes.
Eigen::VectorXd ScaleSteps::from(const Eigen::VectorXd& log_inverse,
                                 Rng& rng) const {
  const int p = static_cast<int>(log_inverse.size());
  const double u = rng.uniform();
  const double size = 2 * std::exp(2 * u - 1);
  Eigen::VectorXd to = log_inverse;
  if (rng.uniform() < 0.5) {
    const auto n = static_cast<std::uint32_t>(cloud_.cols());
    const auto a = rng.index(n), b = rng.index(n);
    const double by =
        rng.uniform() < 0.2 ? 1 : size * rng.normal() / std::sqrt(2.0 * p);
    to += by * (cloud_.col(a) - cloud_.col(b));
    return to;
  }
  const int which = static_cast<int>(rng.index(p + 1));
  if (which < p) {
    to[which] += size * spread_[which] * rng.normal();
  } else {
    to.array() += std::exp(4 * u - 3) * rng.normal();
  }
  return to;
}

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
