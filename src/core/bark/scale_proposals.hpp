#pragma once

#include <functional>

#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// What one prior of scales is about: those of all kernels, or of one.
struct Scales {
  const Prior& prior;
  const std::vector<double>& log_lambda;
  const std::vector<char>& included;

  int p() const { return static_cast<int>(included.size()); }
  int n_included() const;
  double total() const;
};

/// A change with the log of the ratio of priors and proposals, log P of (B35).
struct ScaleProposal {
  ScaleChange change;
  double log_ratio = 0;
  bool possible = true;
  static ScaleProposal none() { return {{}, 0, false}; }
};
using ProposeScales = std::function<ScaleProposal(const Scales&)>;

/// A uniform choice among the included predictors, leaving out one.
int choose_included(const Scales& scales, Rng& rng, int but = -1);

/// Where kernels have scales of their own those of a uniformly chosen one,
/// whose varphi follows, (B27); else those of all, (B35). True if they changed.
bool change_scales(State& state, double power, Rng& rng,
                   const ProposeScales& propose);

}  // namespace bark
}  // namespace kernelbayes
