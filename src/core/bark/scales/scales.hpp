#pragma once

#include <functional>

#include "core/bark/state/places.hpp"
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

/// Pooled scales: those of each kernel vary around common ones, by an amount
/// that is learned, and each predictor has a learned probability of being in a
/// kernel. (B79), (B80).

/// From their prior: the pool, and the scales of a kernel given it.
Pool draw_pool(const Prior& prior, int p, Rng& rng);
/// That of chains that start.
Pool start_pool(const Prior& prior, int p);
void transfer(Archive& archive, Pool& pool, int p);
void draw_pooled_scales(const Prior& prior, const Pool& pool, Shape& shape,
                        Rng& rng);

// Proposals for the scales of one kernel, (B81) to (B83); see scales.cpp and
// flip.cpp for the moves of the same name under other priors.
ScaleProposal pooled_scale_all(const Scales& scales, double step, Rng& rng);
ScaleProposal pooled_scale_one(const Scales& scales, int predictor, double step,
                               Rng& rng);
ScaleProposal pooled_scale_refresh(const Scales& scales, Rng& rng);
ScaleProposal pooled_flip(const Scales& scales, Rng& rng);
ScaleProposal pooled_swap(const Scales& scales, Rng& rng);

/// Clustered scales: kernels of a cluster have the same ones. Which kernels are
/// together is a draw from a Chinese restaurant process whose concentration is
/// learned; each cluster has scales from the prior of scales, (B109). A cluster
/// is a number that its kernels have.

/// The concentration from its prior.
void draw_concentration(State& state, Rng& rng);

/// Of all kernels, or of all but one.
std::vector<ShapePointer> shapes_of(const State& state, int but = -1);

/// A shape whose scales are those of one of the others, or its own in a new
/// cluster: (B110).
ShapePointer join_or_found(const ShapePointer& fresh,
                           const std::vector<ShapePointer>& others,
                           double concentration, Rng& rng);

/// The slots of the cluster of slot j.
std::vector<int> cluster_of(const State& state, int j);

/// Other scales for a cluster of several kernels, (B111).
bool change_cluster(State& state, const std::vector<int>& cluster,
                    const ScaleProposal& next, double power, Rng& rng);

}  // namespace kernelbayes::bark
