#pragma once

#include <kernelbayes/smc.hpp>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "adapted.hpp"
#include "birth_death.hpp"
#include "core/machine.hpp"
#include "moves.hpp"
#include "scales.hpp"

namespace kernelbayes::srvm {

/// Posterior summaries recorded at each step, and timings.
struct Records {
  std::vector<double> mean_k, mean_sigma;
  std::vector<double> tried, accepted;  // 3 per step: birth, death, swap
  double seconds = 0;                   // in all steps
  double shared_seconds = 0;            // of these, in sums over the data
  // With History::kFull: the weights and sets of every step.
  std::vector<double> weights;
  std::vector<int> set_sizes, sets;  // rows of x, from 0

  void transfer_path(Archive& archive, int steps);
  void transfer_history(Archive& archive);
};

/// The model as a target of `Smc`: gamma_t(S) = p_t(S) L_t(S) given psi, at a
/// row's power as in (S22).
class Target {
 public:
  using Particle = srvm::Particle;
  using Scratch = srvm::Scratch;
  using Arrival = srvm::Arrival;

  Target(const Config& config, const Eigen::MatrixXd& x,
         const Eigen::MatrixXd& y);

  Scratch scratch() const;
  void initialise(Particle& particle, Rng& rng) const;
  void adapt(const std::vector<Particle>& particles);
  void move(Particle& particle, Rng& rng, Scratch& scratch) const;
  bool drop_data(const Executor& executor);
  double drop(Particle& particle, Scratch& scratch) const;
  void data_dropped() { pool_.forget_leaving(); }
  void add_datum(int t, const Executor& executor);
  void score(Particle& particle, Rng& rng, Scratch& scratch,
             Arrival& arrival) const;
  double log_potential(const Arrival& arrival, double to) const {
    return arrival.log_weight(to);
  }
  double power() const { return pool_.power(); }
  void set_power(double to) {
    // Particles will recompute the sums of a row that entered gradually.
    if (to == 1 && pool_.power() > 0 && sums_are_shared()) {
      pool_.share_pairs(serial_executor());
    }
    pool_.set_power(to);
  }
  double propose(Particle& particle, const Arrival& arrival, Rng& rng,
                 Scratch& scratch) const;
  double log_predictive(const Particle& particle) const {
    return particle.log_predictive;
  }
  void after_step(int t, const std::vector<Particle>& particles,
                  const std::vector<double>& weights);
  void after_rejuvenation(const std::vector<Particle>& particles,
                          const std::vector<double>& weights);

  /// One Gibbs draw (coefficients, psi) for output; sets `particle`'s psi but
  /// leaves its factor. The intercept is in the scale of y.
  void draw(Particle& particle, Rng& rng, std::vector<double>& beta) const;

  /// Rebuilds the shared sums of the first t rows and the particles' own from
  /// their sets; `particles` hold sets, psi and factors. With a bounded memory
  /// or latent variables they also hold their sums, and `state` the shared
  /// ones. `known`, or null, is a pool of exactly this state.
  void restore(int t, const CandidatePool::State& state,
               std::vector<Particle>& particles, const CandidatePool* known,
               const Executor& executor);

  /// Whether particles are refreshed on request: with a sweep, at any row.
  void rejuvenates(bool on) { rejuvenates_ = on; }

  const CandidatePool& pool() const { return pool_; }
  Eigen::Index predictors() const { return x_.cols(); }

  /// Moves the pool out of a target that is no longer used.
  CandidatePool release_pool() { return std::move(pool_); }

  /// Whether a state must hold sums.
  bool accumulates() const {
    return config_.memory.bounded() || config_.model.latent() ||
           config_.model.learns_scales();
  }
  Records& records() { return records_; }
  const Records& records() const { return records_; }

 private:
  static constexpr int kEarlyRows = 20;
  static constexpr double kOwnRounds = 50;

  // Rows have the same weight for all particles.
  bool sums_are_shared() const {
    return !config_.model.latent() && !config_.memory.forgets() &&
           !config_.model.learns_scales();
  }
  bool is_regular() const;
  bool rests() const;
  int rounds() const;
  void empty(Particle& particle) const;
  void sweep(Particle& particle, Rng& rng, Scratch& scratch) const;
  int scale_moves() const;
  double propose_set(Particle& particle, const Arrival& arrival, Rng& rng,
                     Scratch& scratch) const;
  void release_unused(const std::vector<Particle>& particles);
  void record_sets(const std::vector<Particle>& particles,
                   const std::vector<double>& weights);
  void drop_sets(std::size_t particles);

  Config config_;
  Eigen::MatrixXd x_;
  std::vector<Datum> y_;
  CandidatePool pool_;
  std::map<double, StudentRules> rules_;          // by degrees of freedom
  std::vector<PriorStep> steps_, leaving_steps_;  // by kernel
  ScaleSteps scale_steps_;
  Records records_;
  bool rejuvenates_ = false;
};

/// The sequential sampler; `y` as data_of() takes it.
class Filter : public Machine {
 public:
  Filter(const Config& config, const Eigen::MatrixXd& x,
         const Eigen::MatrixXd& y, Executor executor);

  int time() const override { return smc_.time(); }
  /// Takes in up to n further rows.
  void advance(int n) override;
  void transfer(Archive& archive) override;

  /// Replaces the particles by `particles` of equal weight, moved again.
  void rejuvenate(int particles);

  const CandidatePool& pool() const { return target_.pool(); }
  /// Moves the pool out of a filter that is no longer used.
  CandidatePool release_pool() { return target_.release_pool(); }
  /// Null, or the pool of exactly the state to be read, which then need not be
  /// computed.
  void know(const CandidatePool* pool) { known_ = pool; }

 private:
  void transfer_accumulated(Archive& archive, std::vector<Particle>& particles,
                            CandidatePool::State& pool, int time) const;
  void write_results(Archive& archive) const;

  Config config_;
  int rows_;
  Executor executor_;
  const CandidatePool* known_ = nullptr;
  Target target_;
  Smc<Target> smc_;
};

}  // namespace kernelbayes::srvm
