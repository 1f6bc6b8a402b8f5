#pragma once

#include "kernelbayes/rng.hpp"
#include "state.hpp"

namespace kernelbayes::kgs {

/// A state without wrong labels, or false if none was found: Newton's method
/// for squared hinge losses with random margins and a vanishing penalty, which
/// finds one if the labels can be separated (up to rounding).
bool separate(const Walls& walls, State& state, Rng& rng);

}  // namespace kernelbayes::kgs
