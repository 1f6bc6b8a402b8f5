#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

void draw_coefficients(const Particle& particle, Rng& rng,
                       std::vector<double>& beta) {
  const int p = particle.factor.size();
  for (int j = 0; j < p; ++j) beta[j] = particle.factor.z(j) + rng.normal();
  particle.factor.solve_upper(beta.data());
}

void draw_variances(Particle& particle, const Model& model,
                    const CandidatePool& pool,
                    const std::vector<double>& beta, Rng& rng) {
  const int p = particle.gram.size();
  double quadratic = 0, linear = 0, squares = 0;
  for (int j = 0; j < p; ++j) {
    const double* column = particle.gram.column(j);
    double sum = 0.5 * column[j] * beta[j];
    for (int i = j + 1; i < p; ++i) sum += column[i] * beta[i];
    quadratic += 2 * sum * beta[j];
    linear += particle.rhs[j] * beta[j];
    squares += beta[j] * beta[j];
  }
  if (model.shift != 0) {
    const double intercept = beta[0] + model.shift;
    squares += intercept * intercept - beta[0] * beta[0];
  }
  const double residual =
      std::max(pool.response_squares() - 2 * linear + quadratic, 0.0);
  particle.noise = model.noise.draw_posterior(pool.rows(), residual, rng);
  particle.coef = model.coef.draw_posterior(p, squares, rng);
}

}  // namespace srvm
}  // namespace kernelbayes
