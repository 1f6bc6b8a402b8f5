#pragma once

#include <cstdint>
#include <vector>

#include "core/machine.hpp"
#include "moves.hpp"

namespace kernelbayes::srvm {

struct ChainSettings {
  int warmup = 0, iterations = 1000, thin = 1;
  std::uint64_t seed = 0;
};

/// Kept draws, one after another: the set with the psi of its factor, and a
/// Gibbs draw of coefficients and psi given the set. With latent variables the
/// factor contains these, and the log likelihood is that given the Gibbs draw.
struct ChainDraws {
  std::vector<int> k, sets;
  std::vector<double> noise, coef, factor, z;
  std::vector<double> beta, drawn_noise, drawn_coef, log_inverse, spread;
  std::vector<double> df, log_likelihood;

  void transfer(Archive& archive, const Model& model);
};

/// The batch sampler: reversible jump on the posterior of (S, psi) given all
/// rows. An iteration is `n_moves` birth, death or swap moves, a step in coef
/// given the set (its length adapts during the warmup) and one Gibbs sweep, of
/// latent variables too.
class Chain : public Machine {
 public:
  Chain(const Config& config, const ChainSettings& settings,
        const Eigen::MatrixXd& x, const Eigen::MatrixXd& y,
        const Executor& executor);

  int time() const override { return time_; }
  /// Runs up to n further iterations.
  void advance(int n) override;
  void transfer(Archive& archive) override;

 private:
  int total() const { return settings_.warmup + settings_.iterations; }
  bool worth_all_pairs() const;
  void start();
  void draw_start();
  void iterate();
  void move_coef();
  void move_scales();
  void step_scales(const Eigen::VectorXd& by, int which);
  void record(double noise, double coef);
  bool is_valid() const;
  void transfer_latent(Archive& archive, std::vector<double>& latent) const;

  Config config_;
  ChainSettings settings_;
  Eigen::MatrixXd x_;
  std::vector<Datum> y_;
  CandidatePool pool_;
  Scratch scratch_;
  Rng rng_;
  Particle particle_;
  ChainDraws draws_;
  int time_ = 0;
  double log_step_ = 0;
  /// Of each inverse bandwidth, and of all together.
  std::vector<double> log_scale_steps_;
  double seconds_ = 0;
};

}  // namespace kernelbayes::srvm
