#pragma once

#include "scale_proposals.hpp"

namespace kernelbayes::bark {

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
