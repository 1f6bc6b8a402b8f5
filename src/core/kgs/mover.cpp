#include "mover.hpp"

#include "angle.hpp"

namespace kernelbayes::kgs {

Mover::Mover(const Walls& walls, Method method)
    : walls_(&walls), method_(method), hmc_(walls), lines_(walls) {}

// All lines if they are few, otherwise a tenth.
int Mover::lines_each() const {
  const int n = walls_->dimension();
  return n <= 10 ? n : std::max(10, n / 10);
}

void Mover::step(const Costs& costs, State& state, Rng& rng) {
  switch (method_) {
    case Method::kCircle:
      return circle_step(*walls_, costs, state, rng);
    case Method::kEllipse:
      return ellipse_step(*walls_, costs, state, rng);
    case Method::kHmc:
      return hmc_.step(costs, state, rng);
    default:
      return lines_.step(lines_each(), costs, state, false, rng);
  }
}

void Mover::adapt(const Costs& costs, State& state, Rng& rng) {
  if (method_ != Method::kCoordinate) return step(costs, state, rng);
  lines_.step(lines_each(), costs, state, true, rng);
  lines_.note(state);
}

}  // namespace kernelbayes::kgs
