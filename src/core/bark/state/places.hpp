#pragma once

#include <memory>
#include <vector>

#include "core/bark/model.hpp"

namespace kernelbayes::bark {

class State;

/// The kernel-specific parts that the prior allows: a centre that is not a row,
/// scales that are not shared. Immutable.
struct Shape {
  std::vector<double> centre;      // empty: the row of its location
  std::vector<double> log_lambda;  // empty, like the next: those of all kernels
  std::vector<char> included;
  int group = 0;    // of inputs
  int cluster = 0;  // of kernels, if they are clustered
};
using ShapePointer = std::shared_ptr<const Shape>;

/// The common part of the scales of kernels, if they are pooled: how probable a
/// predictor is in a kernel, the mean of its log scale there, what these means
/// have in common, and the standard deviation of kernels around them.
struct Pool {
  std::vector<double> inclusion, centre;
  double level = 0, spread = 1;
  double concentration = 1;  // if kernels are clustered
};

/// The location of a kernel whose centre is not a row.
constexpr int kElsewhere = -1;

/// Everything on which a kernel's column in the design depends, except what all
/// kernels share. The intercept has no shape.
struct Place {
  int location = 0;
  ShapePointer shape;
};

/// A place from its prior: a location, around which a kernel-specific centre is
/// normal; kernel-specific scales come from the prior of scales.
Place draw_place(const State& state, Rng& rng);
Place draw_place(const Prior& prior, const Data& data, const Pool& pool,
                 Rng& rng);

/// log of the prior density of a kernel-specific centre, a mixture of normals
/// around the rows, up to a constant.
double log_centre_density(const State& state,
                          const std::vector<double>& centre);

/// Of all p inputs, values given for those of a group; others are 0.
template <class T>
std::vector<T> spread_group(const std::vector<T>& values,
                            const std::vector<int>& inputs, int p) {
  std::vector<T> out(p, 0);
  for (std::size_t k = 0; k < inputs.size(); ++k) out[inputs[k]] = values[k];
  return out;
}

/// Which of p inputs are in the kernel, and their scales, from their prior.
std::vector<char> draw_included(const Prior& prior, int p, Rng& rng);
std::vector<double> draw_scales(const Prior& prior,
                                const std::vector<char>& included, Rng& rng);

}  // namespace kernelbayes::bark
