#include "filter.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "core/archive.hpp"
#include "core/machine.hpp"
#include "drop.hpp"
#include "likelihood.hpp"
#include "psi_moves.hpp"
#include "scales.hpp"
#include "spread.hpp"

namespace kernelbayes::srvm {

namespace {

// Posterior means over the particles, and counts of their latest moves.
struct Summary {
  Summary(const std::vector<Particle>& particles,
          const std::vector<double>& weights, const Model& model,
          const CandidatePool& pool) {
    for (std::size_t i = 0; i < particles.size(); ++i) {
      k += weights[i] * particles[i].k();
      sigma += weights[i] * Likelihood::noise_sd(
                                particles[i], model, pool.rows(),
                                squared_responses(particles[i], model, pool));
      for (int move = 0; move < 3; ++move) {
        tried[move] += particles[i].moves.tried[move];
        accepted[move] += particles[i].moves.accepted[move];
      }
    }
  }
  double k = 0, sigma = 0, tried[3] = {0}, accepted[3] = {0};
};

}  // namespace

Target::Target(const Config& config, const Eigen::MatrixXd& x,
               const Eigen::MatrixXd& y)
    : config_(config),
      x_(x),
      y_(data_of(y, config.model.shift)),
      pool_(config.model.kernels, config.model.fixed_columns,
            config.any_candidate(), config.memory) {
  pool_.candidates_by_degrees(config.proposal == Proposal::kAdapted);
  for (const Kernel& kernel : config_.model.kernels) {
    kernel.check_dimension(x.cols());
  }
  pool_.begin_at(config.past);
  if (config_.model.learns_scales())
    pool_.leave_columns_to_particles(config_.model.own_kernels(x_));
  pool_.reserve(static_cast<int>(x.rows()));
  if (config_.model.response == Response::kStudent) {
    for (const double df : config_.model.df) rules_.emplace(df, df);
  }
  if (x.rows() != y.rows()) {
    throw std::invalid_argument("x and y have different numbers of rows");
  }
}

Scratch Target::scratch() const {
  return Scratch(config_.model.most_columns(pool_.size() + 1) + 2);
}

void Target::initialise(Particle& particle, Rng& rng) const {
  const Model& model = config_.model;
  particle.noise = model.noise.draw(rng);
  particle.coef = model.coef.draw(rng);
  particle.df = model.draw_df(rng);
  if (model.learns_scales()) {
    particle.own.use(model.scales.draw(static_cast<int>(x_.cols()), rng));
  }
  const int m = model.fixed();
  particle.gram.resize(m);
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) particle.gram(i, j) = 0;
  }
  particle.rhs.assign(m, 0.0);
  refactor(particle, model);
}

void Target::adapt(const std::vector<Particle>& particles) {
  if (config_.model.learns_scales() && !rests())
    scale_steps_.size_by(particles);
}

void Target::move(Particle& particle, Rng& rng, Scratch& scratch) const {
  if (rejuvenates_ || (!config_.smc.stops() && is_regular()))
    particle.moves = MoveCounts();
  if (rests()) return;
  const bool sweeps =
      rejuvenates_ || !is_regular() || pool_.time() % config_.sweep_every == 0;
  for (int i = rounds(); i > 0; --i) {
    if (sweeps) sweep(particle, rng, scratch);
    if (sweeps && config_.model.learns_scales()) {
      for (int k = scale_moves(); k > 0; --k) {
        scale_move(particle, config_.model, pool_,
                   scale_steps_.from(particle.own.log_inverse(), rng), rng,
                   scratch.spare);
      }
    }
    move_set(particle, config_, pool_, config_.n_moves, rng, scratch);
  }
}

// Bandwidths mix slowest of all: with fewer steps the evidence is too low, and
// its standard error too small.
int Target::scale_moves() const {
  constexpr int kMost = 5;
  return std::min(1 + static_cast<int>(x_.cols()) / 4, kMost);
}

bool Target::rests() const { return rounds() == 0; }

// Are these the moves that every row gets, at its first power or before?
bool Target::is_regular() const {
  return rejuvenates_ ||
         pool_.power() == (config_.smc.stops() ? config_.smc.powers[0] : 1);
}

// The posterior changes most, and moves cost least, in the first rows, and at a
// row that needs more powers. Where a move costs O(t), because columns are the
// particle's own, row t has about kOwnRounds / t rounds: 0 at most late rows.
int Target::rounds() const {
  if (config_.proposal == Proposal::kPaper) return 1;
  if (!is_regular()) return 4;
  const int t = std::max(pool_.time(), 1);
  if (rejuvenates_ || !config_.model.learns_scales()) {
    return std::max(1, kEarlyRows / t);
  }
  const auto so_far = [](double rows) {
    return static_cast<int>(std::floor(kOwnRounds * std::log(rows + 0.5)));
  };
  return so_far(t) - so_far(t - 1);
}

void Target::sweep(Particle& particle, Rng& rng, Scratch& scratch) const {
  const Model& model = config_.model;
  gibbs_sweep(particle, model, pool_, rng, scratch);
  if (config_.proposal == Proposal::kPaper) return;
  // Steps of all sizes, because the right size is not known.
  const auto step = [&] { return std::exp(4 * rng.uniform() - 3); };
  const bool informed = model.coef.shape > 0 || particle.factor.size() > 0;
  if (!model.coef.fixed && informed) {
    coef_move(particle, model, pool_, step(), rng);
  }
  if (model.noise.fixed || model.scaled) return;
  if (!model.coef.fixed && informed) {
    noise_draw(particle, model, pool_, rng);
  } else {
    noise_move(particle, model, pool_, step(), rng);
  }
}

bool Target::drop_data(const Executor& executor) {
  const Stopwatch watch;
  const bool any = pool_.drop_rows(x_, executor);
  if (pool_.leaving() >= 0) {
    leaving_steps_ = steps_down(config_.model.centres, pool_);
  }
  records_.shared_seconds += watch.seconds();
  return any;
}

double Target::drop(Particle& particle, Scratch& scratch) const {
  return srvm::drop(particle, config_, pool_, leaving_steps_, scratch);
}

void Target::add_datum(int t, const Executor& executor) {
  const Stopwatch watch;
  pool_.add_row(x_, t - 1, y_[t - 1 - config_.past], executor);
  steps_ = arrival_steps(config_.model.centres, pool_);
  records_.shared_seconds += watch.seconds();
}

void Target::score(Particle& particle, Rng& rng, Scratch& scratch,
                   Arrival& arrival) const {
  if (pool_.power() == 0 && particle.own.any()) {
    particle.own.grow(pool_, particle.set);
  }
  if (config_.proposal == Proposal::kAdapted) {
    // A candidate that is in the set keeps its own.
    offer_spread(particle, config_.model, rng);
    score_adapted(particle, config_.model, pool_, steps_, scratch, arrival);
  } else {
    score_row(particle, config_.model, pool_, scratch, arrival);
  }
}

double Target::propose_set(Particle& particle, const Arrival& arrival, Rng& rng,
                           Scratch& scratch) const {
  if (arrival.first()) {
    particle.log_predictive =
        arrival.log_predictive(rules_.empty() ? nullptr
                                              : &rules_.at(particle.df)) +
        std::log(pool_.latest_root());
    if (config_.smc.stops()) particle.moves = MoveCounts();
  }
  if (config_.proposal == Proposal::kAdapted) {
    const double log_weight =
        extend_adapted(particle, config_.model, pool_, arrival, rng, scratch);
    return log_weight + extend_siblings(particle, config_.model, pool_, steps_,
                                        arrival.power, rng, scratch);
  }
  return extend_birth_death(particle, config_, pool_, steps_[0], arrival, rng,
                            scratch);
}

// Particles without weight must have finite moments, too: 0 times NaN is NaN.
void Target::empty(Particle& particle) const {
  const int p = config_.model.fixed();
  particle.set.clear();
  if (particle.own.any()) particle.own.clear();
  particle.gram.resize(p);
  particle.rhs.resize(p);
  refactor(particle, config_.model);
}

double Target::propose(Particle& particle, const Arrival& arrival, Rng& rng,
                       Scratch& scratch) const {
  const double log_weight = propose_set(particle, arrival, rng, scratch);
  // A particle beyond double precision gets no weight; the run continues as
  // long as one is left.
  if (!particle.factor.ok() || !std::isfinite(log_weight) ||
      !residual_is_valid(particle, config_.model, pool_)) {
    empty(particle);
    return -std::numeric_limits<double>::infinity();
  }
  if (pool_.power() == 1 && !arrival.first() && sums_are_shared()) {
    // A row in parts has other bits than a whole row: these are the bits of a
    // resumed run.
    pool_.restore_sums(particle.set, particle.gram, particle.rhs);
  }
  // (S40): the density of the response, not of its multiple.
  return log_weight +
         (pool_.power() - arrival.power) * std::log(pool_.latest_root());
}

void Target::after_step(int, const std::vector<Particle>& particles,
                        const std::vector<double>& weights) {
  pool_.drop_pairs();
  const Summary now(particles, weights, config_.model, pool_);
  records_.mean_k.push_back(now.k);
  records_.mean_sigma.push_back(now.sigma);
  records_.tried.insert(records_.tried.end(), now.tried, now.tried + 3);
  records_.accepted.insert(records_.accepted.end(), now.accepted,
                           now.accepted + 3);
  if (!config_.any_candidate()) release_unused(particles);
  if (config_.smc.history == History::kFull) record_sets(particles, weights);
}

void Target::after_rejuvenation(const std::vector<Particle>& particles,
                                const std::vector<double>& weights) {
  const Summary now(particles, weights, config_.model, pool_);
  records_.mean_k.back() = now.k;
  records_.mean_sigma.back() = now.sigma;
  for (int move = 0; move < 3; ++move) {
    *(records_.tried.end() - 3 + move) += now.tried[move];
    *(records_.accepted.end() - 3 + move) += now.accepted[move];
  }
  if (!config_.any_candidate()) release_unused(particles);
  if (config_.smc.history == History::kFull) {
    drop_sets(particles.size());
    record_sets(particles, weights);
  }
}

void Target::release_unused(const std::vector<Particle>& particles) {
  std::vector<char> used(pool_.numbers(), 0);
  for (const Particle& particle : particles) {
    for (const int j : particle.set) used[j] = 1;
  }
  pool_.release_unused(used);
}

void Target::record_sets(const std::vector<Particle>& particles,
                         const std::vector<double>& weights) {
  records_.weights.insert(records_.weights.end(), weights.begin(),
                          weights.end());
  for (const Particle& particle : particles) {
    records_.set_sizes.push_back(particle.k());
    for (const int j : particle.set) {
      records_.sets.push_back(pool_.row_of(j));
    }
  }
}

// Removes what record_sets() wrote last.
void Target::drop_sets(std::size_t particles) {
  auto& sizes = records_.set_sizes;
  const auto last = sizes.end() - particles;
  const int held = std::accumulate(last, sizes.end(), 0);
  records_.sets.resize(records_.sets.size() - held);
  sizes.erase(last, sizes.end());
  records_.weights.resize(records_.weights.size() - particles);
}

void Target::draw(Particle& particle, Rng& rng,
                  std::vector<double>& beta) const {
  beta.resize(particle.factor.size());
  gibbs_draw(particle, config_.model, pool_, rng, beta);
  to_kernels(particle, config_.model, beta.data());
  if (config_.model.fixed_columns.intercept) beta[0] += config_.model.shift;
}

void Target::restore(int t, const CandidatePool::State& state,
                     std::vector<Particle>& particles,
                     const CandidatePool* known, const Executor& executor) {
  const bool bounded = config_.memory.bounded();
  // There are fewer candidates than rows.
  const std::size_t numbers =
      bounded ? state.rows.row_of.size()
              : static_cast<std::size_t>(t) * pool_.kernels();
  std::vector<char> used(numbers, 0);
  for (const Particle& particle : particles) {
    for (const int j : particle.set) used.at(j) = 1;
  }
  if (known != nullptr && known->time() == t) {
    pool_ = *known;
    pool_.reserve(static_cast<int>(x_.rows()));
    if (config_.model.learns_scales())
      pool_.leave_columns_to_particles(config_.model.own_kernels(x_));
  } else if (bounded) {
    pool_.restore(x_, y_, t - config_.past, state, used, executor);
  } else {
    pool_.rebuild(x_, y_, t, used, executor);
  }
  for (const Particle& particle : particles) {
    pool_.require_known(particle.set);
    if (particle.k() > config_.model.centres.limit(pool_.size())) {
      throw DamagedState("a set has too many centres");
    }
  }
  for (Particle& particle : particles) {
    if (particle.own.any()) particle.own.fill(pool_, particle.set);
  }
  if (accumulates()) return;
  pool_.share_pairs(executor);
  executor(particles.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      pool_.restore_sums(particles[i].set, particles[i].gram, particles[i].rhs);
    }
  });
  pool_.drop_pairs();
}

}  // namespace kernelbayes::srvm
