#pragma once

#include "kernelbayes/rng.hpp"

namespace kernelbayes {
namespace kgs {

/// A draw of a Beta(a, b) variable below `upper`, in (0, 1].
double truncated_beta(double a, double b, double upper, Rng& rng);

}  // namespace kgs
}  // namespace kernelbayes
