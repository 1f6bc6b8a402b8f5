#include "particle.hpp"

#include "likelihood.hpp"

namespace kernelbayes::srvm {

void refactor(Particle& particle, const Model& model) {
  const double gain = model.scaled ? 1 : 1 / particle.noise;
  // Coefficients are those of y - shift, so the intercept has mean -shift.
  particle.factor.factor(particle.gram, particle.rhs.data(), gain,
                         1 / particle.coef, -model.shift / particle.coef,
                         model.arithmetic->subtract_four());
}

void assimilate(Particle& particle, const Model& model, Scratch& scratch,
                const std::vector<double>& u, double y, double root) {
  const int p = particle.gram.size();
  const double weight = root * root;
  const double units =
      model.scaled ? root : root * std::sqrt(1 / particle.noise);
  for (int j = 0; j < p; ++j) {
    double* column = particle.gram.column(j);
    detail::subtract(p - j, -weight * u[j], u.data() + j, column + j);
    particle.rhs[j] += weight * u[j] * y;
    scratch.b[j] = u[j] * units;
  }
  particle.factor.rank_one(scratch.b.data(), y * units);
}

Released release(Particle& particle, const Model& model, Scratch& scratch,
                 const std::vector<double>& u, double y) {
  const int p = particle.gram.size();
  const double root = model.scaled ? 1 : std::sqrt(1 / particle.noise);
  for (int j = 0; j < p; ++j) {
    double* column = particle.gram.column(j);
    detail::subtract(p - j, u[j], u.data() + j, column + j);
    particle.rhs[j] -= u[j] * y;
    scratch.b[j] = u[j] * root;
  }
  const auto update = particle.factor.rank_one_less(scratch.b.data(), y * root);
  if (update.stable) return {update.log_shrink, update.residual};
  refactor(particle, model);
  for (int j = 0; j < p; ++j) scratch.b[j] = u[j] * root;
  const RowMoments row = row_moments(particle, scratch.b);
  const double sd = std::sqrt(1 + row.variance);
  return {-std::log(sd), (y * root - row.mean) / sd};
}

RowMoments row_moments(const Particle& particle, std::vector<double>& u) {
  const int p = particle.factor.size();
  particle.factor.solve_lower(u.data());
  RowMoments out{0, 0};
  for (int j = 0; j < p; ++j) {
    out.mean += u[j] * particle.factor.z(j);
    out.variance += u[j] * u[j];
  }
  return out;
}

double squared_responses(const Particle& particle, const Model& model,
                         const CandidatePool& pool) {
  return model.latent() ? particle.squares : pool.response_squares();
}

double latest_value(const Particle& particle, const CandidatePool& pool,
                    int i) {
  if (!particle.own.any()) return pool.latest_value(particle.set[i]);
  return particle.own.of(i)[pool.latest_place()];
}

double latest_value_of(const Particle& particle, const CandidatePool& pool,
                       int candidate) {
  if (!particle.own.any()) return pool.latest_value(candidate);
  return particle.own.consider(pool, candidate)[pool.latest_place()];
}

const double* column(const Particle& particle, const CandidatePool& pool,
                     int i) {
  if (!particle.own.any()) return pool.column(particle.set[i]);
  return particle.own.of(i);
}

const double* column_of(const Particle& particle, const CandidatePool& pool,
                        int candidate) {
  if (!particle.own.any()) return pool.column(candidate);
  return particle.own.consider(pool, candidate).data();
}

void restore_sums(Particle& particle, const CandidatePool& pool) {
  if (particle.own.any()) {
    particle.own.sum(pool, pool.power(), particle.gram, particle.rhs);
  } else {
    pool.restore_sums(particle.set, particle.gram, particle.rhs);
  }
}

void latest_design(const Particle& particle, const Model& model,
                   const CandidatePool& pool, std::vector<double>& u) {
  const int m = model.fixed();
  for (int j = 0; j < m; ++j) u[j] = pool.fixed_value(pool.latest_place(), j);
  for (int i = 0; i < particle.k(); ++i) {
    u[m + i] = latest_value(particle, pool, i);
  }
}

Birth score_birth(const Particle& particle, const Likelihood& likelihood,
                  int candidate, const CandidateSums& sums,
                  const std::vector<double>& g, std::vector<double>& h) {
  const int p = particle.factor.size();
  const double gain = likelihood.gain(), ridge = likelihood.ridge();
  for (int j = 0; j < p; ++j) h[j] = gain * g[j];
  particle.factor.solve_lower(h.data());
  double squares = 0, product = 0;
  for (int j = 0; j < p; ++j) {
    squares += h[j] * h[j];
    product += h[j] * particle.factor.z(j);
  }
  // The Schur complement is at least the ridge; less is rounding, and then so
  // is the rest of the right-hand side (as in Cholesky::factor).
  double schur = gain * sums.gram + ridge - squares;
  const bool rounding = schur < ridge;
  if (rounding) schur = ridge;
  const double pivot = std::sqrt(schur);
  const double z = rounding ? 0 : (gain * sums.rhs - product) / pivot;
  const double log_volume = -0.5 * std::log(schur * particle.coef);
  const double log_ratio = log_volume + likelihood.explain(z * z);
  return {candidate, sums, log_ratio, log_volume, pivot, z};
}

void append(Particle& particle, const Birth& birth,
            const std::vector<double>& g, const std::vector<double>& h) {
  const int p = particle.gram.size();
  particle.set.push_back(birth.candidate);
  if (particle.own.any()) particle.own.append();
  particle.gram.resize(p + 1);
  for (int j = 0; j < p; ++j) particle.gram(p, j) = g[j];
  particle.gram(p, p) = birth.sums.gram;
  particle.rhs.push_back(birth.sums.rhs);
  particle.factor.append(h.data(), birth.pivot, birth.z);
}

Death score_death(const Particle& particle, const Likelihood& likelihood, int i,
                  int fixed, std::vector<double>& w) {
  const int p = particle.factor.size();
  const int row = i + fixed;
  std::fill(w.begin(), w.begin() + p, 0.0);
  w[row] = 1;
  particle.factor.solve_lower(w.data(), row);
  double variance = 0, mean = 0;
  for (int j = row; j < p; ++j) {
    variance += w[j] * w[j];
    mean += w[j] * particle.factor.z(j);
  }
  const double log_ratio = 0.5 * std::log(particle.coef / variance) +
                           likelihood.explain(-mean * mean / variance);
  return {log_ratio, variance, mean};
}

void erase(Particle& particle, int i, int fixed, std::vector<double>& work) {
  const int row = i + fixed;
  if (particle.own.any()) particle.own.erase(i, particle.set[i]);
  particle.set.erase(particle.set.begin() + i);
  particle.gram.erase(row);
  particle.rhs.erase(particle.rhs.begin() + row);
  particle.factor.erase(row, work.data());
}

bool residual_is_valid(const Particle& particle, const Model& model,
                       const CandidatePool& pool) {
  double explained = 0;
  for (const double z : particle.factor.z()) explained += z * z;
  const double gain = model.scaled ? 1 : 1 / particle.noise;
  const double total = gain * squared_responses(particle, model, pool) +
                       model.shift * model.shift / particle.coef;
  return explained <= total * (1 + 1e-8);
}

}  // namespace kernelbayes::srvm
