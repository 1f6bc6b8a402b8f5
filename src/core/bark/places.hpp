#pragma once

#include <memory>
#include <vector>

#include "model.hpp"

namespace kernelbayes {
namespace bark {

class State;

/// What a kernel has of its own, where the prior lets it: a centre that is no
/// row, scales that are not those of all kernels. Never changed once made.
struct Shape {
  std::vector<double> centre;      // empty: the row of its location
  std::vector<double> log_lambda;  // empty, as the next: those of all kernels
  std::vector<char> included;
};
using ShapePointer = std::shared_ptr<const Shape>;

/// The location of a kernel whose centre is its own.
constexpr int kElsewhere = -1;

/// All that its column in the design depends on, but for what all kernels
/// share. The intercept has no shape.
struct Place {
  int location = 0;
  ShapePointer shape;
};

/// A place from its prior: a location, around which a centre of its own is
/// normal; scales of its own from the prior of scales.
Place draw_place(const State& state, Rng& rng);

/// log of the prior density of a kernel's own centre, a mixture of normal ones
/// around the rows, but for a constant.
double log_centre_density(const State& state,
                          const std::vector<double>& centre);

/// Which of p inputs are in the kernel, and their scales, from their prior.
std::vector<char> draw_included(const Prior& prior, int p, Rng& rng);
std::vector<double> draw_scales(const Prior& prior,
                                const std::vector<char>& included, Rng& rng);

}  // namespace bark
}  // namespace kernelbayes
