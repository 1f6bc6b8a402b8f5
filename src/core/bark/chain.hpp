#pragma once

#include <cstdint>

#include "sweep.hpp"

namespace kernelbayes {
namespace bark {

struct ChainSettings {
  int warmup = 0, iterations = 1000, thin = 1;
  int n_temps = 1;
  bool prior_only = false;  // without the likelihood
  bool full = true;         // sweeps of all moves
  // Of neighbouring temperatures, swapped about every second time.
  double power_ratio = 0.85, amplitude_ratio = 0.6;
  std::uint64_t seed = 0;
};

/// Kept draws, one after the other; of each the m slots with a draw of their
/// coefficients, and the factor L of phi G + diag(1 / v) with z = L^-1 phi
/// K'Wy, from which the mean and variance of f given all else follow. y is
/// latent in a model of classes, whose phi is 1; W holds Student's row weights,
/// which are not kept. log_likelihood is that of the data: with the
/// coefficients integrated out, or, where that is no closed form, of classes
/// and of Student's noise, at the draw of the coefficients. cuts are the C - 1
/// finite points between ordered classes.
struct Draws {
  std::vector<int> m, location, copies, included;
  std::vector<double> log_lambda, noise, log_likelihood;
  std::vector<double> variance, beta, factor, z, cuts;
  std::vector<double> directions;  // U, column by column
  // Of kernels' own shapes, p numbers a slot (0 of the intercept).
  std::vector<double> centre, own_log_lambda;
  std::vector<int> own_included;
};

/// Adds the kernels of a state with a draw of their coefficients: all of Draws
/// but noise, likelihood and cuts. Returns the coefficients.
Eigen::VectorXd record_kernels(const State& state, bool prior_only,
                               Draws& draws, Rng& rng);

/// Metropolis-coupled chains (n_temps = 1: a single one); a resumable state
/// machine. Only draws at power 1 are kept.
class Chain {
 public:
  Chain(const Prior& prior, const ChainSettings& settings, Data data);
  // States refer to this object's data.
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Saved {
    int time = 0;
    std::vector<State::Saved> states;
    std::vector<Steps> steps;
    Counts counts;
    std::array<std::uint64_t, 4> rng{};
    Draws draws;
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

  const Draws& draws() const { return draws_; }
  const Prior& prior() const { return prior_; }

 private:
  void sweep(int level);
  void swap_temperatures();
  void record();

  Prior prior_;
  ChainSettings settings_;
  Data data_;
  Rng rng_;
  std::vector<State> states_;  // by temperature, the coldest first
  std::vector<Rung> rungs_;
  std::vector<Sweep> sweeps_;
  Counts counts_;  // after the warmup; moves at power 1
  Draws draws_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
