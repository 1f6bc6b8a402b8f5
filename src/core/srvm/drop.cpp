#include "drop.hpp"

#include <kernelbayes/normal_cdf.hpp>

#include "adapted.hpp"
#include "latent.hpp"
#include "likelihood.hpp"
#include "psi_moves.hpp"

namespace kernelbayes::srvm {

namespace {

// The design of the row that left, times the root of its weight.
void leaving_design(const Particle& particle, const Model& model,
                    const CandidatePool& pool, double root,
                    std::vector<double>& u) {
  const int m = model.fixed();
  for (int j = 0; j < m; ++j) u[j] = root * pool.leaving_fixed(j);
  for (int i = 0; i < particle.k(); ++i) {
    u[m + i] = root * pool.leaving_value(particle.set[i]);
  }
}

// The weights fell and the oldest row may have left: log of the likelihood
// ratio.
double discount(Particle& particle, const Model& model,
                const CandidatePool& pool, Scratch& scratch) {
  const double before =
      log_marginal(particle, model, pool.rows(), pool.squares_before());
  const int p = particle.gram.size();
  const double factor = pool.discount();
  double y = 0;
  if (pool.leaving_place() >= 0) {
    const double root = std::sqrt(pool.leaving_weight());
    leaving_design(particle, model, pool, root, scratch.a);
    y = root * pool.leaving_response();
  } else {
    std::fill(scratch.a.begin(), scratch.a.end(), 0.0);
  }
  const std::vector<double>& u = scratch.a;
  for (int j = 0; j < p; ++j) {
    double* column = particle.gram.column(j);
    for (int i = j; i < p; ++i) column[i] = factor * column[i] - u[i] * u[j];
    particle.rhs[j] = factor * particle.rhs[j] - u[j] * y;
  }
  if (pool.rows_left() == 0) {  // without rounding errors left by the last row
    for (int j = 0; j < p; ++j) {
      std::fill(particle.gram.column(j) + j, particle.gram.column(j) + p, 0.0);
      particle.rhs[j] = 0;
    }
  }
  refactor(particle, model);
  return log_marginal(particle, model, pool.rows_left(),
                      pool.response_squares()) -
         before;
}

// (S33): the oldest row left; divides by its predictive density given the
// others.
double lose_row(Particle& particle, const Model& model,
                const CandidatePool& pool, Scratch& scratch) {
  leaving_design(particle, model, pool, 1, scratch.a);
  const double y = pool.leaving_response();
  if (model.response == Response::kProbit) {
    double& z = particle.latent[pool.leaving_place()];
    const Released row = release(particle, model, scratch, scratch.a, z);
    const double sd = std::exp(-row.log_shrink);
    const double mean =
        z - row.residual * sd + pool.offsets()[pool.leaving_place()];
    particle.squares -= z * z;
    z = 0;
    return -log_normal_cdf(y * mean / sd);
  }
  const Released row = release(particle, model, scratch, scratch.a, y);
  const Likelihood left(particle, model, pool.rows_left(),
                        pool.response_squares());
  return -(std::log(pool.leaving_root()) + row.log_shrink +
           left.row(1, row.residual / std::sqrt(left.gain()), 0));
}

// The particle's sums follow those of the pool.
void refresh_sums(Particle& particle, const Model& model,
                  const CandidatePool& pool) {
  pool.restore_sums(particle.set, particle.gram, particle.rhs);
  refactor(particle, model);
}

// (S34), a candidate leaves: log of p_m(S') L(S') / [p_m(S') L(S') + ...] with
// the change of the prior.
double lose_candidate(Particle& particle, const Model& model,
                      const CandidatePool& pool, const PriorStep& prior,
                      Scratch& scratch, int h) {
  auto& set = particle.set;
  const Likelihood now(particle, model, pool.rows_left(),
                       squared_responses(particle, model, pool));
  const auto found = std::find(set.begin(), set.end(), pool.leaving(h));
  const bool held = found != set.end();
  const int k = particle.k() - held;
  const double join = prior.join(k), log_stay = std::log(prior.stay(k));
  if (join == 0) return -log_stay;
  double log_gain;
  if (held) {
    const int i = static_cast<int>(found - set.begin());
    log_gain =
        -score_death(particle, now, i, model.fixed(), scratch.a).log_ratio;
    erase(particle, i, model.fixed(), scratch.a);
  } else {
    const CandidateSums sums =
        own_sums(particle, model, pool, pool.leaving(h),
                 pool.gather_leaving(set, scratch.a, h), scratch.a);
    log_gain =
        score_birth(particle, now, pool.leaving(h), sums, scratch.a, scratch.b)
            .log_ratio;
  }
  return -adapted_choice(log_stay, std::log(join) + log_gain).log_weight;
}

}  // namespace

double drop(Particle& particle, const Config& config, const CandidatePool& pool,
            const std::vector<PriorStep>& steps, Scratch& scratch) {
  double log_weight = 0;
  if (config.memory.forgets()) {
    log_weight += discount(particle, config.model, pool, scratch);
  } else if (pool.leaving_place() >= 0) {
    log_weight += lose_row(particle, config.model, pool, scratch);
  }
  if (pool.refreshed() && !config.model.latent()) {
    refresh_sums(particle, config.model, pool);
  }
  if (pool.leaving() < 0) return log_weight;
  for (int h = 0; h < pool.kernels(); ++h) {
    log_weight +=
        lose_candidate(particle, config.model, pool, steps[h], scratch, h);
  }
  return log_weight;
}

std::vector<PriorStep> steps_down(const CentrePrior& prior,
                                  const CandidatePool& pool) {
  std::vector<PriorStep> out;
  for (int h = 0; h < pool.kernels(); ++h) {
    out.emplace_back(prior, pool.size() - h);
  }
  return out;
}

}  // namespace kernelbayes::srvm
