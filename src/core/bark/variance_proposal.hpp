#pragma once

#include <array>
#include <cmath>

#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// A proposal for the varphi of a slot with a single one: nearly its full
/// conditional distribution, prior(varphi) L(v)^power with v = copies^2 /
/// varphi. A histogram in x = log v with an exponential tail, mixed with the
/// prior, which covers what the histogram misses: Q of (B23).
class VarianceProposal {
 public:
  VarianceProposal(const Prior& prior, int copies,
                   const Information& information, double power);

  /// varphi.
  double draw(Rng& rng) const;

  /// log of the integral of prior(varphi) L(v)^power, nearly.
  double log_evidence() const { return log_top_ + std::log(total_); }

  /// log of prior(varphi) L(v)^power / proposal(varphi), (B23): the weight of a
  /// kernel with this varphi relative to none.
  double log_weight(double varphi) const;

 private:
  static constexpr int kBins = 32;
  static constexpr double kWidth = 0.6, kPriorShare = 0.1;

  // Of x, with v = exp(x).
  double log_prior(double x, double v) const;
  double log_target(double x, double v) const;
  double upper() const { return lower_ + kBins * kWidth; }

  const Prior* prior_;
  double squared_copies_;
  Information information_;
  double power_;
  double shape_, rate_, log_constant_;  // the density of x
  double lower_, tail_rate_;
  double log_top_;  // of the densities, which are scaled by it
  std::array<double, kBins + 1> density_;  // in each bin; at the tail's start
  double total_;                           // their integral
};

}  // namespace bark
}  // namespace kernelbayes
