#include "core/bark/scales/scale_proposals.hpp"
#include "moves.hpp"

namespace kernelbayes::bark {

namespace {

// The length of a step along each predictor: the width of the kernel if it is
// narrow, otherwise part of the width of the prior. It does not depend on the
// centre, so steps are symmetric.
std::vector<double> reach(const State& state, const Shape& shape) {
  const bool own = !shape.included.empty();
  const auto& included = own ? shape.included : state.included();
  const auto& log_lambda = own ? shape.log_lambda : state.log_lambda();
  const double sd = state.prior().centre_sd;
  std::vector<double> out;
  for (std::size_t l = 0; l < included.size(); ++l) {
    constexpr double kFarthest = 4;
    const double width = std::exp(-0.5 * log_lambda[l]);
    out.push_back(included[l] ? std::min(width, kFarthest * sd) : sd);
  }
  return out;
}

}  // namespace

// (B27) with P of (B29).
bool walk_move(State& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const Slot& slot = state.slot(j);
  if (slot.location != kElsewhere) return false;
  auto next = std::make_shared<Shape>(*slot.shape);
  const std::vector<double> longest = reach(state, *slot.shape);
  const double length = std::exp2(-5 * rng.uniform());
  const int p = static_cast<int>(longest.size());
  const int only = rng.uniform() < 0.5 ? static_cast<int>(rng.index(p)) : -1;
  for (int l = 0; l < p; ++l) {
    if (only >= 0 && l != only) continue;
    next->centre[l] += length * longest[l] * rng.normal();
  }
  const double log_ratio = log_centre_density(state, next->centre) -
                           log_centre_density(state, slot.shape->centre);
  return move_kernel(state, j, Place{kElsewhere, next}, log_ratio, power, rng);
}

}  // namespace kernelbayes::bark
