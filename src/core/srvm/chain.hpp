#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "moves.hpp"

namespace kernelbayes {
namespace srvm {

struct ChainSettings {
  int warmup = 0, iterations = 1000, thin = 1;
  std::uint64_t seed = 0;
};

/// Kept draws, one after the other: the set with the psi that its factor
/// belongs to, and a Gibbs draw of coefficients and psi given the set.
struct ChainDraws {
  std::vector<int> k, sets;
  std::vector<double> noise, coef, factor, z;
  std::vector<double> beta, drawn_noise, drawn_coef;
};

/// The batch sampler: reversible jump on the posterior of (S, psi) given all
/// rows. An iteration is `n_moves` birth, death or swap moves, a step in coef
/// given the set (its length adapts in the warmup) and one Gibbs sweep. A
/// resumable state machine, like Filter.
class Chain {
 public:
  Chain(const Config& config, const ChainSettings& settings,
        const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
        const Executor& executor);
  // The pool refers to this object's data.
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }

  /// Runs up to n further iterations.
  void advance(int n);

  /// All that restore() needs beside the data and settings; `particle` has
  /// set, psi, factor and counts of moves after the warmup.
  struct State {
    int time = 0;
    Particle particle;
    std::array<std::uint64_t, 4> rng{};
    ChainDraws draws;
    double log_step = 0;  // of the move in log coef
    double seconds = 0;
  };
  const Particle& particle() const { return particle_; }
  const ChainDraws& draws() const { return draws_; }
  const CandidatePool& pool() const { return pool_; }
  std::array<std::uint64_t, 4> rng() const { return rng_.state(); }
  double log_step() const { return log_step_; }
  double seconds() const { return seconds_; }
  void restore(State state);

 private:
  bool worth_all_pairs() const;
  void start();
  void iterate();
  void move_coef();
  void record(double noise, double coef);
  bool is_valid() const;

  Config config_;
  ChainSettings settings_;
  Eigen::MatrixXd x_;
  Eigen::VectorXd y_;  // less the shift
  CandidatePool pool_;
  Scratch scratch_;
  Rng rng_;
  Particle particle_;
  ChainDraws draws_;
  int time_ = 0;
  double log_step_ = 0;
  double seconds_ = 0;
};

}  // namespace srvm
}  // namespace kernelbayes
