#include "spread.hpp"

#include <cmath>

namespace kernelbayes::srvm {

namespace {

// The particle's sums when column j is multiplied by `factor`.
void multiply(Particle& particle, int j, double factor) {
  const int p = particle.gram.size();
  for (int i = 0; i < j; ++i) particle.gram(j, i) *= factor;
  for (int i = j + 1; i < p; ++i) particle.gram(i, j) *= factor;
  particle.gram(j, j) *= factor * factor;
  particle.rhs[j] *= factor;
}

}  // namespace

void offer_spread(Particle& particle, const Model& model, Rng& rng) {
  if (model.has_spreads()) particle.own.offer(model.spread().draw(rng));
}

void start_spreads(Particle& particle, const Model& model, int k, Rng& rng) {
  if (!model.has_spreads()) return;
  std::vector<double> spreads(k);
  for (double& v : spreads) v = model.spread().draw(rng);
  particle.own.use(particle.own.log_inverse(), std::move(spreads));
}

// (S66). The square of a coefficient of the kernel is v times that of the
// column's.
void draw_spreads(Particle& particle, const Model& model,
                  const CandidatePool& pool, Rng& rng,
                  std::vector<double>& beta) {
  if (!model.has_spreads() || particle.k() == 0) return;
  const VariancePrior prior = model.spread();
  const double unit = particle.coef * (model.scaled ? particle.noise : 1);
  std::vector<double> spreads = particle.own.spreads();
  for (int i = 0; i < particle.k(); ++i) {
    const int j = i + model.fixed();
    const double before = spreads[i];
    const double square = before * beta[j] * beta[j] / unit;
    spreads[i] = prior.draw_posterior(1, square, before, rng);
    const double factor = std::sqrt(spreads[i] / before);
    multiply(particle, j, factor);
    beta[j] /= factor;
  }
  // Evaluated again, not multiplied: the bits of a run that is resumed.
  particle.own.use(particle.own.log_inverse(), std::move(spreads));
  particle.own.fill(pool, particle.set);
}

void to_kernels(const Particle& particle, const Model& model, double* beta) {
  if (!model.has_spreads()) return;
  for (int i = 0; i < particle.k(); ++i) {
    beta[i + model.fixed()] *= std::sqrt(particle.own.spreads()[i]);
  }
}

}  // namespace kernelbayes::srvm
