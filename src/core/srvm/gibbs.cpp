#include "latent.hpp"
#include "likelihood.hpp"
#include "particle.hpp"
#include "spread.hpp"

namespace kernelbayes::srvm {

namespace {

void draw_coefficients(const Particle& particle, double sd, Rng& rng,
                       std::vector<double>& beta) {
  const int p = particle.factor.size();
  for (int j = 0; j < p; ++j) {
    beta[j] = particle.factor.z(j) + sd * rng.normal();
  }
  particle.factor.solve_upper(beta.data());
}

// The sum of squared coefficients, the intercept in the scale of y.
double sum_of_squares(const Particle& particle, const Model& model,
                      const std::vector<double>& beta) {
  const int p = particle.gram.size();
  double squares = 0;
  for (int j = 0; j < p; ++j) squares += beta[j] * beta[j];
  if (model.shift != 0) {
    const double intercept = beta[0] + model.shift;
    squares += intercept * intercept - beta[0] * beta[0];
  }
  return squares;
}

double residual_squares(const Particle& particle, double squares,
                        const std::vector<double>& beta) {
  const int p = particle.gram.size();
  double quadratic = 0, linear = 0;
  for (int j = 0; j < p; ++j) {
    const double* column = particle.gram.column(j);
    double sum = 0.5 * column[j] * beta[j];
    for (int i = j + 1; i < p; ++i) sum += column[i] * beta[i];
    quadratic += 2 * sum * beta[j];
    linear += particle.rhs[j] * beta[j];
  }
  return std::max(squares - 2 * linear + quadratic, 0.0);
}

// The noise given S and coef, in the scaled form.
void draw_noise_scaled(Particle& particle, const Model& model,
                       const CandidatePool& pool, Rng& rng) {
  const double residual =
      Likelihood::residual_squares(particle, model, pool.response_squares());
  particle.noise =
      model.noise.draw_posterior(pool.rows(), residual, particle.noise, rng);
}

// (S17): noise | S, coef, then beta | noise, S, coef, then coef | beta, noise.
void gibbs_draw_scaled(Particle& particle, const Model& model,
                       const CandidatePool& pool, Rng& rng,
                       std::vector<double>& beta) {
  draw_noise_scaled(particle, model, pool, rng);
  draw_coefficients(particle, std::sqrt(particle.noise), rng, beta);
  const double squares = sum_of_squares(particle, model, beta);
  particle.coef = model.coef.draw_posterior(
      particle.gram.size(), squares / particle.noise, particle.coef, rng);
}

}  // namespace

// (S16).
void gibbs_draw(Particle& particle, const Model& model,
                const CandidatePool& pool, Rng& rng,
                std::vector<double>& beta) {
  if (model.scaled) return gibbs_draw_scaled(particle, model, pool, rng, beta);
  draw_coefficients(particle, 1, rng, beta);
  particle.noise = model.noise.draw_posterior(
      pool.rows(),
      residual_squares(particle, squared_responses(particle, model, pool),
                       beta),
      particle.noise, rng);
  particle.coef = model.coef.draw_posterior(
      particle.gram.size(), sum_of_squares(particle, model, beta),
      particle.coef, rng);
}

void gibbs_sweep(Particle& particle, const Model& model,
                 const CandidatePool& pool, Rng& rng, Scratch& scratch) {
  // Rounding errors are cleared on this schedule if no draw requires a
  // refactor.
  constexpr int kRefactorEvery = 64;
  const bool unchanged = !model.latent() && model.coef.fixed &&
                         (model.scaled || model.noise.fixed) &&
                         !model.has_spreads();
  if (!unchanged) {
    gibbs_draw(particle, model, pool, rng, scratch.a);
    draw_spreads(particle, model, pool, rng, scratch.a);
    if (model.latent()) {
      draw_latent(particle, model, pool, scratch.a, rng);
    }
  } else if (model.scaled) {
    draw_noise_scaled(particle, model, pool, rng);
  }
  if (!unchanged || pool.time() % kRefactorEvery == 0) {
    refactor(particle, model);
  }
}

}  // namespace kernelbayes::srvm
