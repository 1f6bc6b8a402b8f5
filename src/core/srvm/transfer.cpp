#include "transfer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kernelbayes::srvm {

namespace {

std::size_t triangle(std::size_t p) { return p * (p + 1) / 2; }

// Reads p numbers at a time from a vector of the length that `sizes` sum to.
class Slices {
 public:
  Slices(const std::vector<double>& from) : next_(from.data()) {}
  const double* take(std::size_t count) {
    const double* out = next_;
    next_ += count;
    return out;
  }

 private:
  const double* next_;
};

void transfer_sets(Archive& archive, std::vector<Particle>& particles) {
  if (archive.reading()) particles.resize(archive.size("k"));
  std::vector<int> k;
  for (const Particle& particle : particles) k.push_back(particle.k());
  archive("k", k, Want::tally(k.size()));
  double total = 0;
  for (const int count : k) total += count;
  if (archive.reading()) {
    archive.require(total == static_cast<double>(archive.size("sets")), "sets",
                    "as long as k implies");
    for (std::size_t i = 0; i < k.size(); ++i) particles[i].set.resize(k[i]);
  }
  std::vector<int> sets;
  for (const Particle& particle : particles) {
    for (const int j : particle.set) sets.push_back(j + 1);
  }
  archive("sets", sets, Want::between(1, 1e9, sets.size()));
  auto next = sets.begin();
  for (Particle& particle : particles) {
    for (int& j : particle.set) j = *next++ - 1;
  }
}

struct Sizes {
  Sizes(const std::vector<Particle>& particles, int fixed) {
    for (const Particle& particle : particles) {
      const std::size_t p = particle.set.size() + fixed;
      coefficients += p;
      entries += triangle(p);
    }
  }
  std::size_t coefficients = 0, entries = 0;
};

}  // namespace

void transfer(Archive& archive, std::vector<Particle>& particles, int fixed) {
  transfer_sets(archive, particles);
  archive.each<double>(
      "noise", particles, [](Particle& p) -> double& { return p.noise; },
      Want::positive());
  archive.each<double>(
      "coef", particles, [](Particle& p) -> double& { return p.coef; },
      Want::positive());
  const Sizes sizes(particles, fixed);
  std::vector<double> factor, z;
  if (!archive.reading()) {
    factor.reserve(sizes.entries);
    z.reserve(sizes.coefficients);
    for (const Particle& particle : particles) particle.factor.save(factor, z);
  }
  archive("factor", factor, Want::of(sizes.entries));
  archive("z", z, Want::of(sizes.coefficients));
  if (!archive.reading()) return;
  Slices columns(factor), right(z);
  for (Particle& particle : particles) {
    const int p = particle.k() + fixed;
    const double* diagonal = columns.take(triangle(p));
    particle.factor.restore(p, diagonal, right.take(p));
    for (int j = 0; j < p; diagonal += p - j, ++j) {
      archive.require(*diagonal > 0, "factor", "entries of Cholesky factors");
    }
  }
}

void transfer_scales(Archive& archive, std::vector<Particle>& particles,
                     const Model& model, Eigen::Index predictors) {
  if (!model.learns_scales()) return;
  std::vector<double> all;
  for (const Particle& particle : particles) {
    const Eigen::VectorXd& own = particle.own.log_inverse();
    all.insert(all.end(), own.begin(), own.end());
  }
  archive("log_inverse", all,
          Want::of(static_cast<int>(particles.size() * predictors)));
  if (!archive.reading()) return;
  Slices from(all);
  for (Particle& particle : particles) {
    particle.own.use(
        Eigen::Map<const Eigen::VectorXd>(from.take(predictors), predictors));
  }
}

void transfer_spreads(Archive& archive, std::vector<Particle>& particles,
                      const Model& model) {
  if (!model.has_spreads()) return;
  std::vector<double> all;
  std::size_t centres = 0;
  for (const Particle& particle : particles) {
    const std::vector<double>& own = particle.own.spreads();
    all.insert(all.end(), own.begin(), own.end());
    centres += particle.set.size();
  }
  archive("spread", all, Want::positive(centres));
  if (!archive.reading()) return;
  Slices from(all);
  for (Particle& particle : particles) {
    const double* first = from.take(particle.set.size());
    particle.own.use(particle.own.log_inverse(), {first, first + particle.k()});
  }
}

void transfer_df(Archive& archive, std::vector<Particle>& particles,
                 const Model& model) {
  if (!model.learns_df()) {
    for (Particle& particle : particles) particle.df = model.df.front();
    return;
  }
  archive.each<double>("df", particles,
                       [](Particle& p) -> double& { return p.df; });
  for (const Particle& particle : particles) {
    const auto known = std::find(model.df.begin(), model.df.end(), particle.df);
    archive.require(known != model.df.end(), "df",
                    "among the values that the prior has");
  }
}

void transfer_sums(Archive& archive, std::vector<Particle>& particles,
                   std::size_t latent) {
  std::size_t entries = 0;
  for (Particle& particle : particles) {
    const int p = particle.factor.size();
    entries += triangle(p);
    if (!archive.reading()) continue;
    particle.gram.resize(p);
    particle.rhs.resize(p);
    particle.latent.resize(latent);
  }
  std::vector<double> gram;
  if (!archive.reading()) {
    gram.reserve(entries);
    for (const Particle& particle : particles) {
      for (int j = 0; j < particle.gram.size(); ++j) {
        const double* column = particle.gram.column(j);
        gram.insert(gram.end(), column + j, column + particle.gram.size());
      }
    }
  }
  archive("gram", gram, Want::of(entries));
  archive.ragged(
      "rhs", particles, [](Particle & p) -> auto& { return p.rhs; });
  archive.ragged(
      "latent", particles, [](Particle & p) -> auto& { return p.latent; });
  archive.each<double>("squares", particles,
                       [](Particle& p) -> double& { return p.squares; });
  if (!archive.reading()) return;
  Slices from(gram);
  for (Particle& particle : particles) {
    const int p = particle.gram.size();
    for (int j = 0; j < p; ++j) {
      std::copy_n(from.take(p - j), p - j, particle.gram.column(j) + j);
    }
  }
}

void transfer(Archive& archive, CandidatePool::State& pool) {
  archive("row_of", pool.rows.row_of);
  archive("last_row", pool.rows.last_row);
  archive("uses", pool.rows.uses);
  archive("alive", pool.rows.alive);
  archive("free", pool.rows.free);
  archive("candidate_at", pool.rows.candidate_at);
  archive("rhs", pool.rhs);
  // Under the name from when the intercept was the only fixed column.
  archive("column_sum", pool.with_fixed);
  archive("gram", pool.gram);
  archive("squares", pool.squares);
}

void transfer(Archive& archive, Genealogy::State& state, std::size_t n) {
  archive("founders", state.founders, Want::tally(n));
  archive("resamplings", state.resamplings, Want::tally());
  archive("closed", state.closed, Want::anything());
  if (archive.reading()) {
    archive.require(archive.size("correction") > 0, "correction",
                    "of at least one generation");
    state.generations.resize(archive.size("correction"));
    for (auto& generation : state.generations) generation.families.resize(n);
  }
  archive.ragged(
      "families", state.generations,
      [](auto& generation) -> auto& { return generation.families; },
      Want::tally());
  archive.each<double>(
      "correction", state.generations,
      [](auto& generation) -> double& { return generation.correction; },
      Want::anything());
}

void transfer(Archive& archive, SmcPath& path, int steps) {
  const Want any{steps, 0, 0, true}, finite = Want::of(steps);
  archive("log_increment", path.log_increment, finite);
  archive("log_lost", path.log_lost, any);
  archive("log_predictive", path.log_predictive, any);
  archive("ess", path.ess, finite);
  archive("ess_lowest", path.ess_lowest, finite);
  archive("increases", path.increases, finite);
  archive("founders", path.founders, finite);
  archive("particles", path.particles, finite);
  archive("resampled", path.resampled, finite);
}

std::vector<int> candidate_rows(const CandidatePool& pool) {
  constexpr int kMissing = std::numeric_limits<int>::min();  // R's NA
  std::vector<int> out(pool.numbers(), kMissing);
  for (int i = 0; i < pool.size(); ++i) {
    const int j = pool.candidate(i);
    out[j] = pool.row_of(j) + 1;
  }
  return out;
}

}  // namespace kernelbayes::srvm
