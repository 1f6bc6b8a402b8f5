#pragma once

#include "chain.hpp"
#include "truncated_sweep.hpp"

namespace kernelbayes {
namespace bark {

/// Rungs of the evidence from 0 to 1, or those of a chain that samples.
struct TruncatedSettings {
  ChainSettings chain;
  std::vector<double> ladder;  // 0 < ... < 1, see Rung::at(); empty: a chain
};

/// Kept draws, one after the other; of each the m locations that have a kernel,
/// with the number of kernels and the sum of their coefficients. log_likelihood
/// is that of the data given the coefficients.
struct TruncatedDraws {
  std::vector<int> m, location, copies, included;
  std::vector<double> log_lambda, noise, log_likelihood, beta;
};

/// Metropolis-coupled chains of the truncation approximation, as Chain, or as
/// Ladder with stepping stones of the likelihood given the coefficients. A
/// resumable state machine.
class TruncatedChain {
 public:
  TruncatedChain(const Prior& prior, const TruncatedSettings& settings,
                 Data data);
  // States refer to this object's data.
  TruncatedChain(const TruncatedChain&) = delete;
  TruncatedChain& operator=(const TruncatedChain&) = delete;

  int total() const { return chain().warmup + chain().iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Saved {
    int time = 0;
    std::vector<TruncatedState::Saved> states;
    std::vector<Steps> steps;
    TruncatedCounts counts;
    std::array<std::uint64_t, 4> rng{};
    TruncatedDraws draws;
    std::vector<double> swapped, log_ratio;  // of a ladder
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  const ChainSettings& chain() const { return settings_.chain; }
  bool ladder() const { return !settings_.ladder.empty(); }
  int levels() const { return static_cast<int>(states_.size()); }
  void place_rungs();
  void sweep(int level);
  void exchange_neighbours();
  void record();
  void record_kernels();
  void record_ratios();

  Prior prior_;
  TruncatedSettings settings_;
  Data data_;
  Rng rng_;
  std::vector<Rung> rungs_;  // a ladder's last, 1, has no state
  std::vector<TruncatedState> states_;
  std::vector<TruncatedSweep> sweeps_;
  TruncatedCounts counts_;  // after the warmup; moves of the first state
  TruncatedDraws draws_;
  std::vector<double> swapped_, log_ratio_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
