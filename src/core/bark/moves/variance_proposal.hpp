#pragma once

#include "core/bark/state/state.hpp"

namespace kernelbayes::bark {

/// A proposal for the varphi of a slot with a single one. With alpha = 1 and
/// power 1 it is the full conditional distribution, and the weight of the
/// kernel is its evidence, whatever varphi is: (B139). Otherwise it is the same
/// for a likelihood that is close, mixed with the prior: Q of (B23), (B142).
class VarianceProposal {
 public:
  VarianceProposal(const Prior& prior, int copies,
                   const Information& information, double power);

  /// log of the weight of a kernel with a proposed varphi relative to none,
  /// (B23). take() is this varphi, drawn here only if the weight depends on it.
  double propose(Rng& rng);
  double take(Rng& rng) const { return exact_ ? draw(rng) : proposed_; }

  /// The same weight of a kernel that is there.
  double log_weight(double varphi) const;

  /// log of the integral of prior(varphi) L(v), v = copies^2 / varphi; exact if
  /// alpha = 1 and the power is 1.
  double log_evidence() const { return log_evidence_; }

 private:
  static constexpr double kPriorShare = 0.1;

  double draw(Rng& rng) const;

  const Prior* prior_;
  double squared_copies_;
  Information information_;
  double power_;
  bool exact_;
  double rate_;       // of varphi / copies^2
  Information near_;  // of the close likelihood
  double log_evidence_;
  double proposed_ = 0;
};

}  // namespace kernelbayes::bark
