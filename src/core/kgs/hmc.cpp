#include "hmc.hpp"

#include <limits>

#include "kernelbayes/constants.hpp"
#include "samplers.hpp"

namespace kernelbayes::kgs {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kMaxEvents = 1e6;

}  // namespace

Hmc::Hmc(const Walls& walls)
    : walls_(&walls), kicks_(walls.size()), key_(walls.size()) {}

// A component F > 0 on its side with velocity B leaves it at the zero of F cos
// t + B sin t in (0, pi), (G6), where cot t = -B / F: finding the first needs
// no arctangent. F = 0 up to rounding leaves at once, or at pi.
Hmc::Next Hmc::next(const State& state, int last) const {
  constexpr double kTiny = 1e-300;
  constexpr Index kBlock = 128;
  const Index n = key_.size();
  const auto& side = state.ledger.sides().array();
  double best = -std::numeric_limits<double>::infinity();
  Index block = -1;
  for (Index i = 0; i < n; i += kBlock) {
    const Index m = std::min(kBlock, n - i);
    auto key = key_.segment(i, m);
    key = -(side.segment(i, m) * velocity_.array().segment(i, m)) /
          (side.segment(i, m) * state.f.array().segment(i, m)).max(kTiny);
    if (last >= i && last < i + m) {
      key_[last] = -std::numeric_limits<double>::infinity();
    }
    const double most = key.maxCoeff();
    if (most > best) {
      best = most;
      block = i;
    }
  }
  if (block < 0) return {-1, kPi};
  Index at = block;
  while (key_[at] != best) ++at;
  const double s = side[at];
  return {static_cast<int>(at),
          std::atan2(std::max(s * state.f[at], kTiny), -s * velocity_[at])};
}

// (G8).
void Hmc::rotate(double time, State& state) {
  const double c = std::cos(time), s = std::sin(time);
  for (Index k = 0; k < velocity_.size(); ++k) {
    const double f = state.f[k], b = velocity_[k];
    state.f[k] = c * f + s * b;
    velocity_[k] = c * b - s * f;
  }
}

// (G9): the velocity through the wall loses the energy gained; if it has too
// little, it is reflected.
void Hmc::meet(int wall, double left, const Costs& costs, State& state) {
  const double speed = velocity_[wall];
  const double rise = state.ledger.change(wall, costs);
  const double rest = speed * speed - 2 * rise;
  const bool through = rest > 0;
  const double after = through ? std::copysign(std::sqrt(rest), speed) : -speed;
  if (through) state.ledger.cross(wall);
  state.f[wall] = 0;
  const double kick = after - speed;
  if (kick == 0) return;
  const double* column = walls_->gram_column(wall, buffer_);
  velocity_ += kick * Eigen::Map<const VectorXd>(column, velocity_.size());
  kicks_[wall] += kick * std::sin(left);
}

void Hmc::step(const Costs& costs, State& state, Rng& rng) {
  const VectorXd p = normal_vector(walls_->dimension(), rng);
  const double length = kPi / 2 * (0.8 + 0.4 * rng.uniform());
  velocity_ = walls_->project(p);
  kicks_.setZero();
  before_ = state.f;
  double left = length;
  int last = -1;
  for (double count = 0;; ++count) {
    const Next event = next(state, last);
    if (event.time >= left) break;
    if (count == kMaxEvents) {
      state.f = before_;
      state.ledger.rebuild(before_);
      return;
    }
    rotate(event.time, state);
    left -= event.time;
    meet(event.wall, left, costs, state);
    last = event.wall;
  }
  rotate(left, state);
  // (G10): a kick acts from then on like a velocity at that time.
  state.g = std::cos(length) * state.g + std::sin(length) * p +
            walls_->combine(kicks_);
}

}  // namespace kernelbayes::kgs
