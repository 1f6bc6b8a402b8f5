#include "latent.hpp"

#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "core/student.hpp"

namespace kernelbayes::srvm {

namespace {

// In an order that does not depend on addresses, so that a resumed run repeats
// it.
double dot(int n, const double* a, const double* b) {
  double sum[4] = {0, 0, 0, 0};
  int s = 0;
  for (; s + 4 <= n; s += 4) {
    for (int l = 0; l < 4; ++l) sum[l] += a[s + l] * b[s + l];
  }
  for (; s < n; ++s) sum[0] += a[s] * b[s];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The particle's responses, weighted in Student's model.
std::vector<double> weighted_responses(const Particle& particle,
                                       const CandidatePool& pool) {
  std::vector<double> out(particle.latent);
  for (std::size_t s = 0; s < out.size(); ++s) out[s] *= pool.responses()[s];
  return out;
}

// f at all rows.
std::vector<double> fitted(const Particle& particle, const Model& model,
                           const CandidatePool& pool,
                           const std::vector<double>& beta) {
  const int n = static_cast<int>(particle.latent.size());
  std::vector<double> f(n, 0.0);
  const int m = model.fixed();
  for (int j = 0; j < m; ++j) {
    for (int s = 0; s < n; ++s) f[s] += beta[j] * pool.fixed_value(s, j);
  }
  for (int i = 0; i < particle.k(); ++i) {
    const double* values = column(particle, pool, i);
    const double b = beta[i + m];
    for (int s = 0; s < n; ++s) f[s] += b * values[s];
  }
  return f;
}

// The excess of the latest row's latent response in sums over all rows, if its
// power is to be that: a factor of its values. Before the row enters, it has
// none.
double excess_response(const Particle& particle, const CandidatePool& pool,
                       double power) {
  if (power == 1 || pool.power() == 0) return 0;
  return (1 - power) * particle.latent[pool.latest_place()];
}

// rhs and squares from the latent responses.
void sum_responses(Particle& particle, const Model& model,
                   const CandidatePool& pool) {
  const int n = static_cast<int>(particle.latent.size());
  const double* z = particle.latent.data();
  const double excess = excess_response(particle, pool, pool.power());
  particle.squares = dot(n, z, z);
  if (excess != 0) particle.squares -= excess * z[pool.latest_place()];
  const int m = model.fixed();
  for (int j = 0; j < m; ++j) {
    particle.rhs[j] = 0;
    for (int s = 0; s < n; ++s)
      particle.rhs[j] += z[s] * pool.fixed_value(s, j);
    if (excess != 0) {
      particle.rhs[j] -= excess * pool.fixed_value(pool.latest_place(), j);
    }
  }
  for (int i = 0; i < particle.k(); ++i) {
    double& rhs = particle.rhs[i + m];
    rhs = dot(n, column(particle, pool, i), z);
    if (excess != 0) rhs -= excess * latest_value(particle, pool, i);
  }
}

// Of fixed columns, from the latent weights.
void sum_fixed(Particle& particle, int m, const CandidatePool& pool,
               const std::vector<double>& y) {
  const int n = static_cast<int>(y.size());
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) particle.gram(i, j) = 0;
    particle.rhs[j] = 0;
    for (int s = 0; s < n; ++s) {
      const double value = pool.fixed_value(s, j);
      particle.rhs[j] += y[s] * value;
      for (int i = j; i < m; ++i) {
        particle.gram(i, j) +=
            particle.latent[s] * value * pool.fixed_value(s, i);
      }
    }
  }
}

// A column's sums from the latent weights, with those of the set in `g`.
CandidateSums weighted_sums(const Particle& particle, const Model& model,
                            const CandidatePool& pool, const double* own,
                            std::vector<double>& g) {
  const int n = static_cast<int>(particle.latent.size());
  std::vector<double> weighted(own, own + n);
  for (int s = 0; s < n; ++s) weighted[s] *= particle.latent[s];
  std::size_t at = 0;
  for (int j = 0; j < model.fixed(); ++j) {
    double& sum = g[at++];
    sum = 0;
    for (int s = 0; s < n; ++s) sum += weighted[s] * pool.fixed_value(s, j);
  }
  for (int i = 0; i < particle.k(); ++i) {
    g[at++] = dot(n, weighted.data(), column(particle, pool, i));
  }
  return {dot(n, weighted.data(), own),
          dot(n, weighted.data(), pool.responses())};
}

// All sums from the latent weights.
void sum_weighted(Particle& particle, const Model& model,
                  const CandidatePool& pool) {
  const int n = static_cast<int>(particle.latent.size());
  const std::vector<double> y = weighted_responses(particle, pool);
  particle.squares = dot(n, y.data(), pool.responses());
  const int m = model.fixed();
  std::vector<double> g(particle.k() + m);
  sum_fixed(particle, m, pool, y);
  for (int j = 0; j < particle.k(); ++j) {
    const int at = j + m;
    pool.trim_columns();
    const CandidateSums own =
        weighted_sums(particle, model, pool, column(particle, pool, j), g);
    for (int i = at; i < particle.gram.size(); ++i) particle.gram(i, at) = g[i];
    for (int i = 0; i < m; ++i) particle.gram(at, i) = g[i];
    particle.rhs[at] = own.rhs;
  }
}

}  // namespace

CandidateSums own_sums(const Particle& particle, const Model& model,
                       const CandidatePool& pool, int candidate,
                       CandidateSums shared, std::vector<double>& g,
                       double power) {
  if (!model.latent()) return shared;
  const double* own = column_of(particle, pool, candidate);
  if (model.response == Response::kStudent) {
    return weighted_sums(particle, model, pool, own, g);
  }
  const std::vector<double>& latent = particle.latent;
  const double excess = excess_response(particle, pool, power);
  const double rhs = dot(static_cast<int>(latent.size()), own, latent.data());
  if (excess == 0) return {shared.gram, rhs};
  return {shared.gram,
          rhs - excess * latest_value_of(particle, pool, candidate)};
}

CandidateSums candidate_sums(const Particle& particle, const Model& model,
                             const CandidatePool& pool, int candidate,
                             std::vector<double>& g) {
  CandidateSums shared{0, 0};
  if (model.response == Response::kStudent) {
    pool.trim_columns();
  } else {
    shared = particle.own.any()
                 ? particle.own.gather(pool, candidate, pool.power(), g)
                 : pool.gather(candidate, particle.set, g);
  }
  return own_sums(particle, model, pool, candidate, shared, g, pool.power());
}

namespace {

void draw_responses(Particle& particle, const CandidatePool& pool,
                    const std::vector<double>& f, Rng& rng) {
  const double* y = pool.responses();
  const std::size_t latest = pool.latest_place();
  for (std::size_t s = 0; s < f.size(); ++s) {
    if (y[s] == 0) continue;  // the row has left
    const double power = s == latest ? pool.power() : 1;
    const double sd = 1 / std::sqrt(power);
    const double offset = pool.offsets()[s];
    particle.latent[s] =
        y[s] * positive_normal(y[s] * (f[s] + offset), sd, rng) - offset;
  }
}

Eigen::VectorXd residuals(const CandidatePool& pool,
                          const std::vector<double>& f) {
  Eigen::VectorXd out(f.size());
  for (std::size_t s = 0; s < f.size(); ++s)
    out[s] = pool.responses()[s] - f[s];
  return out;
}

// (S61).
void draw_df(Particle& particle, const Model& model, const CandidatePool& pool,
             const Eigen::VectorXd& r, Rng& rng) {
  if (!model.learns_df()) return;
  const Eigen::Index latest = pool.latest_place();
  const double excess = latest < r.size() ? 1 - pool.power() : 0;
  const auto log_density = [&](const StudentNoise& at) {
    double sum = student_log_likelihood(r, at.precision, at.df) +
                 model.noise.log_density(1 / at.precision);
    if (excess > 0) {
      sum -= excess *
             student_log_likelihood(r.segment(latest, 1), at.precision, at.df);
    }
    return sum;
  };
  const StudentNoise to =
      draw_student_noise(model.df, {particle.df, 1 / particle.noise},
                         model.noise.fixed, log_density, rng);
  particle.df = to.df;
  if (!model.noise.fixed) particle.noise = 1 / to.precision;
}

void draw_weights(Particle& particle, const CandidatePool& pool,
                  const Eigen::VectorXd& r, Rng& rng) {
  const Eigen::Index latest = pool.latest_place();
  const double df = particle.df;
  for (Eigen::Index s = 0; s < r.size(); ++s) {
    const double power = s == latest ? pool.power() : 1;
    const double weight = 2 * rng.gamma(power * (df + 1) / 2) /
                          (df + r[s] * r[s] / particle.noise);
    particle.latent[s] = std::max(weight, kLeastWeight);
  }
}

}  // namespace

void draw_latent(Particle& particle, const Model& model,
                 const CandidatePool& pool, const std::vector<double>& beta,
                 Rng& rng) {
  const std::vector<double> f = fitted(particle, model, pool, beta);
  if (model.response == Response::kProbit) {
    draw_responses(particle, pool, f, rng);
    return sum_responses(particle, model, pool);
  }
  const Eigen::VectorXd r = residuals(pool, f);
  draw_df(particle, model, pool, r, rng);
  draw_weights(particle, pool, r, rng);
  sum_weighted(particle, model, pool);
}

void sum_up(Particle& particle, const Model& model, const CandidatePool& pool) {
  if (model.response != Response::kStudent) {
    restore_sums(particle, pool);
    if (model.latent()) sum_responses(particle, model, pool);
    return;
  }
  const int p = particle.k() + model.fixed();
  particle.gram.resize(p);
  particle.rhs.resize(p);
  sum_weighted(particle, model, pool);
}

double log_likelihood(const Particle& particle, const Model& model,
                      const CandidatePool& pool,
                      const std::vector<double>& beta) {
  const std::vector<double> f = fitted(particle, model, pool, beta);
  if (model.response == Response::kProbit) {
    const double* y = pool.responses();
    double sum = 0;
    for (std::size_t s = 0; s < f.size(); ++s) {
      sum += log_normal_cdf(y[s] * (f[s] + pool.offsets()[s]));
    }
    return sum;
  }
  return student_log_likelihood(residuals(pool, f), 1 / particle.noise,
                                particle.df);
}

}  // namespace kernelbayes::srvm
