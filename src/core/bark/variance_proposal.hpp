#pragma once

#include <array>

#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// A proposal for the varphi of a slot that has a single one: nearly its
/// distribution given all else, prior(varphi) L(v)^power with v = copies^2 /
/// varphi.
/// A histogram in x = log v with an exponential tail, and some of the prior,
/// which covers what the histogram leaves out: Q of (B23).
class VarianceProposal {
 public:
  VarianceProposal(const Prior& prior, int copies,
                   const Information& information, double power);

  /// varphi.
  double draw(Rng& rng) const;

  /// log of prior(varphi) L(v)^power / proposal(varphi), (B23): what a kernel
  /// with this varphi weighs against none.
  double log_weight(double varphi) const;

 private:
  static constexpr int kBins = 32;
  static constexpr double kWidth = 0.6, kPriorShare = 0.1;

  double log_prior(double x) const;
  double log_target(double x) const;
  double upper() const { return lower_ + kBins * kWidth; }

  const Prior* prior_;
  double squared_copies_;
  Information information_;
  double power_;
  double lower_, tail_rate_;
  double log_top_;  // of the densities, which are relative to it
  std::array<double, kBins + 1> density_;  // in each bin; at the tail's start
  double total_;                           // what they integrate to
};

}  // namespace bark
}  // namespace kernelbayes
