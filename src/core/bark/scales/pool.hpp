#pragma once

#include "core/bark/state/places.hpp"
#include "scale_proposals.hpp"

namespace kernelbayes::bark {

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

}  // namespace kernelbayes::bark
