#pragma once

#include "kernelbayes/rng.hpp"

namespace kernelbayes::kgs {

/// A draw of a Beta(a, b) variable below `upper`, in (0, 1].
double truncated_beta(double a, double b, double upper, Rng& rng);

}  // namespace kernelbayes::kgs
