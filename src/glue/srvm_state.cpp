#include <stdexcept>
#include <utility>

#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace srvm_r {

namespace {

// Coefficients of all particles, and entries of their triangles.
struct Sizes {
  explicit Sizes(const std::vector<srvm::Particle>& particles) {
    for (const auto& particle : particles) {
      const std::size_t p = particle.factor.size();
      coefficients += p;
      entries += p * (p + 1) / 2;
    }
  }
  std::size_t coefficients = 0, entries = 0;
};

}  // namespace

Rcpp::List particles_to_r(const std::vector<srvm::Particle>& particles) {
  std::vector<int> k, sets;
  std::vector<double> noise, coef, factor, z;
  const Sizes sizes(particles);
  factor.reserve(sizes.entries);
  z.reserve(sizes.coefficients);
  for (const auto& particle : particles) {
    k.push_back(particle.k());
    noise.push_back(particle.noise);
    coef.push_back(particle.coef);
    for (const int j : particle.set) sets.push_back(j + 1);
    particle.factor.save(factor, z);
  }
  using Rcpp::_;
  return Rcpp::List::create(_["k"] = k, _["sets"] = sets, _["noise"] = noise,
                            _["coef"] = coef, _["factor"] = factor, _["z"] = z);
}

namespace {

// Sums that were accumulated and cannot be computed anew bit by bit.
Rcpp::List sums_to_r(const std::vector<srvm::Particle>& particles) {
  std::vector<double> gram, rhs, latent, squares;
  const Sizes sizes(particles);
  gram.reserve(sizes.entries);
  rhs.reserve(sizes.coefficients);
  if (!particles.empty()) {
    latent.reserve(particles.size() * particles[0].latent.size());
  }
  for (const auto& particle : particles) {
    for (int j = 0; j < particle.gram.size(); ++j) {
      const double* column = particle.gram.column(j);
      gram.insert(gram.end(), column + j, column + particle.gram.size());
    }
    rhs.insert(rhs.end(), particle.rhs.begin(), particle.rhs.end());
    latent.insert(latent.end(), particle.latent.begin(), particle.latent.end());
    squares.push_back(particle.squares);
  }
  using Rcpp::_;
  return Rcpp::List::create(_["gram"] = gram, _["rhs"] = rhs,
                            _["latent"] = latent, _["squares"] = squares);
}

void sums_from_r(const Rcpp::List& list,
                 std::vector<srvm::Particle>& particles) {
  const auto gram = get<double>(list, "gram"), rhs = get<double>(list, "rhs"),
             latent = get<double>(list, "latent"),
             squares = get<double>(list, "squares");
  const std::size_t n = particles.size();
  const std::size_t rows = n == 0 ? 0 : latent.size() / n;
  auto from = gram.begin(), right = rhs.begin(), own = latent.begin();
  for (std::size_t i = 0; i < n; ++i) {
    srvm::Particle& particle = particles[i];
    const int p = particle.factor.size();
    if (gram.end() - from < p * (p + 1) / 2 || rhs.end() - right < p) {
      throw std::invalid_argument("the state's sums are incomplete");
    }
    particle.gram.resize(p);
    for (int j = 0; j < p; from += p - j, ++j) {
      std::copy(from, from + (p - j), particle.gram.column(j) + j);
    }
    particle.rhs.assign(right, right + p);
    right += p;
    particle.latent.assign(own, own + rows);
    own += rows;
    particle.squares = squares.at(i);
  }
}

Rcpp::List pool_to_r(const srvm::CandidatePool::State& pool) {
  using Rcpp::_;
  return Rcpp::List::create(
      _["row_of"] = pool.row_of, _["last_row"] = pool.last_row,
      _["uses"] = pool.uses, _["alive"] = pool.alive, _["free"] = pool.free,
      _["candidate_at"] = pool.candidate_at, _["rhs"] = pool.rhs,
      _["column_sum"] = pool.column_sum, _["gram"] = pool.gram,
      _["squares"] = pool.squares);
}

srvm::CandidatePool::State pool_from_r(const Rcpp::List& list) {
  srvm::CandidatePool::State out;
  out.row_of = get<int>(list, "row_of");
  out.last_row = get<int>(list, "last_row");
  out.uses = get<int>(list, "uses");
  out.alive = get<int>(list, "alive");
  out.free = get<int>(list, "free");
  out.candidate_at = get<int>(list, "candidate_at");
  out.rhs = get<double>(list, "rhs");
  out.column_sum = get<double>(list, "column_sum");
  out.gram = get<double>(list, "gram");
  out.squares = list["squares"];
  return out;
}

}  // namespace

std::vector<srvm::Particle> particles_from_r(const Rcpp::List& state,
                                             bool intercept) {
  const auto k = get<int>(state, "k"), sets = get<int>(state, "sets");
  const auto noise = get<double>(state, "noise"),
             coef = get<double>(state, "coef"),
             factor = get<double>(state, "factor"), z = get<double>(state, "z");
  std::vector<srvm::Particle> out(k.size());
  std::size_t at_set = 0, at_factor = 0, at_z = 0;
  for (std::size_t i = 0; i < k.size(); ++i) {
    const int p = k[i] + intercept;
    for (int j = 0; j < k[i]; ++j) out[i].set.push_back(sets.at(at_set++) - 1);
    out[i].noise = noise.at(i);
    out[i].coef = coef.at(i);
    if (at_factor + p * (p + 1) / 2 > factor.size() || at_z + p > z.size()) {
      throw std::invalid_argument("the state's factors are incomplete");
    }
    out[i].factor.restore(p, factor.data() + at_factor, z.data() + at_z);
    at_factor += p * (p + 1) / 2;
    at_z += p;
  }
  return out;
}

namespace {

Rcpp::List path_to_r(const SmcPath& path, const srvm::Records& records) {
  using Rcpp::_;
  return Rcpp::List::create(
      _["log_increment"] = path.log_increment, _["log_lost"] = path.log_lost,
      _["log_predictive"] = path.log_predictive, _["ess"] = path.ess,
      _["ess_lowest"] = path.ess_lowest, _["increases"] = path.increases,
      _["founders"] = path.founders, _["particles"] = path.particles,
      _["resampled"] =
          std::vector<int>(path.resampled.begin(), path.resampled.end()),
      _["mean_k"] = records.mean_k, _["mean_sigma"] = records.mean_sigma,
      _["tried"] = records.tried, _["accepted"] = records.accepted);
}

}  // namespace

namespace {

Rcpp::List genealogy_to_r(const Genealogy::State& state) {
  std::vector<int> families;
  std::vector<double> correction;
  for (const auto& generation : state.generations) {
    families.insert(families.end(), generation.families.begin(),
                    generation.families.end());
    correction.push_back(generation.correction);
  }
  using Rcpp::_;
  return Rcpp::List::create(
      _["founders"] = state.founders, _["families"] = families,
      _["correction"] = correction, _["resamplings"] = state.resamplings,
      _["closed"] = state.closed);
}

Genealogy::State genealogy_from_r(const Rcpp::List& list) {
  Genealogy::State out;
  out.founders = get<int>(list, "founders");
  out.resamplings = list["resamplings"];
  out.closed = list["closed"];
  const auto families = get<int>(list, "families");
  const auto correction = get<double>(list, "correction");
  const std::size_t n = out.founders.size();
  if (correction.empty() || families.size() != n * correction.size()) {
    throw std::invalid_argument("the state's genealogy is incomplete");
  }
  for (std::size_t g = 0; g < correction.size(); ++g) {
    const auto from = families.begin() + g * n;
    out.generations.push_back({{from, from + n}, correction[g]});
  }
  return out;
}

}  // namespace

Rcpp::List state_to_r(const srvm::Filter& filter) {
  using Rcpp::_;
  const auto state = filter.smc().state();
  const auto& records = filter.target().records();
  const auto& pool = filter.target().pool();
  std::vector<int> candidate_rows(pool.numbers(), NA_INTEGER);
  for (int i = 0; i < pool.size(); ++i) {
    const int j = pool.candidate(i);
    candidate_rows[j] = pool.row_of(j) + 1;
  }
  Rcpp::List out = particles_to_r(filter.smc().particles());
  if (filter.target().accumulates()) {
    out["sums"] = sums_to_r(filter.smc().particles());
    out["pool"] = pool_to_r(pool.state());
  }
  out["time"] = state.time;
  out["log_evidence"] = state.log_evidence;
  out["relative_variance"] = filter.smc().relative_variance();
  out["log_weights"] = state.log_weights;
  out["weights"] = filter.smc().weights();
  out["genealogy"] = genealogy_to_r(state.genealogy);
  out["rejuvenations"] = state.rejuvenations;
  out["ancestors"] = state.ancestors;
  out["candidate_rows"] = candidate_rows;
  out["path"] = path_to_r(state.path, records);
  out["history"] =
      Rcpp::List::create(_["weights"] = records.weights,
                         _["k"] = records.set_sizes, _["rows"] = records.sets);
  out["seconds"] = records.seconds;
  out["shared_seconds"] = records.shared_seconds;
  return out;
}

void restore(srvm::Filter& filter, const Rcpp::List& list, bool intercept,
             const srvm::CandidatePool* known, const Executor& executor) {
  const Rcpp::List path = list["path"], history = list["history"];
  Smc<srvm::Target>::State state;
  state.time = list["time"];
  state.log_evidence = list["log_evidence"];
  state.log_weights = get<double>(list, "log_weights");
  state.genealogy = genealogy_from_r(list["genealogy"]);
  state.ancestors = get<int>(list, "ancestors");
  state.path.log_increment = get<double>(path, "log_increment");
  // Nor did rows leave, and predictive densities were not recorded.
  if (path.containsElementNamed("log_lost")) {
    state.path.log_lost = get<double>(path, "log_lost");
    state.path.log_predictive = get<double>(path, "log_predictive");
  } else {
    state.path.log_lost.assign(state.time, 0.0);
    state.path.log_predictive.assign(state.time, NA_REAL);
  }
  state.path.ess = get<double>(path, "ess");
  state.path.ess_lowest = get<double>(path, "ess_lowest");
  state.path.increases = get<int>(path, "increases");
  state.path.founders = get<int>(path, "founders");
  // States of runs before there was rejuvenation lack what it may change.
  if (list.containsElementNamed("rejuvenations")) {
    state.path.particles = get<int>(path, "particles");
    state.rejuvenations = list["rejuvenations"];
  } else {
    state.path.particles.assign(state.time, state.log_weights.size());
  }
  const auto resampled = get<int>(path, "resampled");
  state.path.resampled.assign(resampled.begin(), resampled.end());
  srvm::Records records;
  records.mean_k = get<double>(path, "mean_k");
  records.mean_sigma = get<double>(path, "mean_sigma");
  records.tried = get<double>(path, "tried");
  records.accepted = get<double>(path, "accepted");
  records.weights = get<double>(history, "weights");
  records.set_sizes = get<int>(history, "k");
  records.sets = get<int>(history, "rows");
  records.seconds = list["seconds"];
  records.shared_seconds = list["shared_seconds"];
  auto particles = particles_from_r(list, intercept);
  srvm::CandidatePool::State pool;
  if (list.containsElementNamed("sums")) {
    sums_from_r(list["sums"], particles);
    pool = pool_from_r(list["pool"]);
  }
  filter.restore(std::move(state), pool, std::move(particles),
                 std::move(records), known, executor);
}

}  // namespace srvm_r
