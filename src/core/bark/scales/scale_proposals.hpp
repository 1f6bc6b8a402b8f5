#pragma once

#include <functional>

#include "core/bark/state/state.hpp"

namespace kernelbayes::bark {

/// Scales with one prior: those of all kernels, or of one.
struct Scales {
  const Prior& prior;
  const std::vector<double>& log_lambda;
  const std::vector<char>& included;
  const Pool* pool = nullptr;  // if they are pooled

  int p() const { return static_cast<int>(included.size()); }
  int n_included() const;
  double total() const;
};

/// A change, with the log of the ratio of priors and proposals, log P of (B35).
struct ScaleProposal {
  ScaleChange change;
  double log_ratio = 0;
  bool possible = true;
  static ScaleProposal none() { return {{}, 0, false}; }
};
using ProposeScales = std::function<ScaleProposal(const Scales&)>;

/// A uniformly chosen included predictor other than one.
int choose_included(const Scales& scales, Rng& rng, int but = -1);

ShapePointer changed(const Shape& shape, const ScaleChange& change);

/// If kernels have their own scales, those of a uniformly chosen one, whose
/// varphi is updated too if it is part of the state, (B27); otherwise those of
/// all, (B35). True if they changed. S is a State or an OpenState.
template <class S>
bool change_scales(S& state, double power, Rng& rng,
                   const ProposeScales& propose);

}  // namespace kernelbayes::bark
