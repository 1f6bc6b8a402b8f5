#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

void refactor(Particle& particle, const Model& model) {
  // Coefficients are those of y - shift, so the intercept has mean -shift.
  particle.factor.factor(particle.gram, particle.rhs.data(),
                         1 / particle.noise, 1 / particle.coef,
                         -model.shift / particle.coef);
}

double assimilate(Particle& particle, Scratch& scratch,
                  const std::vector<double>& u, double y) {
  const int p = particle.gram.size();
  const double sd = std::sqrt(particle.noise);
  const double inverse_sd = 1 / sd;
  for (int j = 0; j < p; ++j) {
    double* column = particle.gram.column(j);
    for (int i = j; i < p; ++i) column[i] += u[i] * u[j];
    particle.rhs[j] += u[j] * y;
    scratch.b[j] = u[j] * inverse_sd;
  }
  const auto update =
      particle.factor.rank_one(scratch.b.data(), y * inverse_sd);
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return update.log_shrink - 0.5 * update.residual * update.residual -
         std::log(sd) - kHalfLogTwoPi;
}

double log_marginal(const Particle& particle) {
  double squares = 0;
  for (const double z : particle.factor.z()) squares += z * z;
  return 0.5 * squares - particle.factor.half_log_determinant() -
         0.5 * particle.factor.size() * std::log(particle.coef);
}

Birth score_birth(const Particle& particle, int candidate,
                  const std::vector<double>& g, double gram, double rhs,
                  std::vector<double>& h) {
  const int p = particle.factor.size();
  const double gain = 1 / particle.noise, ridge = 1 / particle.coef;
  for (int j = 0; j < p; ++j) h[j] = gain * g[j];
  particle.factor.solve_lower(h.data());
  double squares = 0, product = 0;
  for (int j = 0; j < p; ++j) {
    squares += h[j] * h[j];
    product += h[j] * particle.factor.z(j);
  }
  // The Schur complement is at least the ridge; less is rounding, and so is
  // then what is left of the right-hand side (as in Cholesky::factor).
  double schur = gain * gram + ridge - squares;
  const bool rounding = schur < ridge;
  if (rounding) schur = ridge;
  const double pivot = std::sqrt(schur);
  const double z = rounding ? 0 : (gain * rhs - product) / pivot;
  const double log_ratio =
      0.5 * z * z - 0.5 * std::log(schur * particle.coef);
  return {candidate, gram, rhs, log_ratio, pivot, z};
}

void append(Particle& particle, const Birth& birth,
            const std::vector<double>& g, const std::vector<double>& h) {
  const int p = particle.gram.size();
  particle.set.push_back(birth.candidate);
  particle.gram.resize(p + 1);
  for (int j = 0; j < p; ++j) particle.gram(p, j) = g[j];
  particle.gram(p, p) = birth.gram;
  particle.rhs.push_back(birth.rhs);
  particle.factor.append(h.data(), birth.pivot, birth.z);
}

Death score_death(const Particle& particle, int i, bool intercept,
                  std::vector<double>& w) {
  const int p = particle.factor.size();
  const int row = i + intercept;
  std::fill(w.begin(), w.begin() + p, 0.0);
  w[row] = 1;
  particle.factor.solve_lower(w.data(), row);
  double variance = 0, mean = 0;
  for (int j = row; j < p; ++j) {
    variance += w[j] * w[j];
    mean += w[j] * particle.factor.z(j);
  }
  const double log_ratio = 0.5 * std::log(particle.coef / variance) -
                           0.5 * mean * mean / variance;
  return {log_ratio, variance, mean};
}

void erase(Particle& particle, int i, bool intercept,
           std::vector<double>& work) {
  const int row = i + intercept;
  particle.set.erase(particle.set.begin() + i);
  particle.gram.erase(row);
  particle.rhs.erase(particle.rhs.begin() + row);
  particle.factor.erase(row, work.data());
}

void gather_gram(const CandidatePool& pool, const Particle& particle,
                 int candidate, bool intercept, std::vector<double>& g) {
  if (intercept) g[0] = pool.column_sum(candidate);
  for (int i = 0; i < particle.k(); ++i) {
    g[i + intercept] = pool.gram(candidate, particle.set[i]);
  }
}

}  // namespace srvm
}  // namespace kernelbayes
