#include <algorithm>

#include "kernelbayes/constants.hpp"
#include "mover.hpp"
#include "samplers.hpp"

namespace kernelbayes::kgs {

namespace {

using Eigen::VectorXd;

struct Event {
  double angle;
  int wall;
};

// Every component is a sinusoid with one zero in (0, pi), and another at pi
// more: (G6).
std::vector<Event> events(const VectorXd& f, const VectorXd& b,
                          const VectorXd& sides) {
  constexpr double kTiny = 1e-300;
  std::vector<Event> out(f.size());
  for (int k = 0; k < f.size(); ++k) {
    out[k] = {std::atan2(std::max(sides[k] * f[k], kTiny), -sides[k] * b[k]),
              k};
  }
  std::sort(out.begin(), out.end(),
            [](const Event& a, const Event& b) { return a.angle < b.angle; });
  return out;
}

// Energies after each event, those of the second half of the circle included,
// relative to the energy at angle 0.
std::vector<double> energies(const Walls& walls,
                             const std::vector<Event>& order,
                             const Costs& costs, Ledger& ledger) {
  const std::size_t n = order.size();
  std::vector<double> out(2 * n + 1);
  out[0] = 0;
  if (walls.two_classes()) {
    // Walls do not affect each other, and all sides differ at the antipode:
    // (G7).
    for (std::size_t j = 0; j < n; ++j) {
      out[j + 1] = out[j] + ledger.change(order[j].wall, costs);
    }
    for (std::size_t j = 0; j <= n; ++j) out[n + j] = out[n] - out[j];
    return out;
  }
  for (std::size_t j = 0; j < 2 * n; ++j) {
    const int wall = order[j % n].wall;
    out[j + 1] = out[j] + ledger.change(wall, costs);
    ledger.cross(wall);
  }
  return out;
}

double angle_of(const std::vector<Event>& order, std::size_t j) {
  const std::size_t n = order.size();
  if (j == 0) return 0;
  if (j > 2 * n) return 2 * kPi;
  return j <= n ? order[j - 1].angle : order[j - n - 1].angle + kPi;
}

void move_ledger(const std::vector<Event>& order, std::size_t arc,
                 Ledger& ledger) {
  const std::size_t n = order.size();
  // Walls that are crossed twice are unchanged.
  const std::size_t from = arc > n ? arc - n : 0, to = std::min(arc, n);
  for (std::size_t j = from; j < to; ++j) ledger.cross(order[j].wall);
}

void rotate(double angle, const VectorXd& b, const VectorXd& z, State& state) {
  state.f = std::cos(angle) * state.f + std::sin(angle) * b;
  state.g = std::cos(angle) * state.g + std::sin(angle) * z;
}

// In one dimension the sphere is two points: half of the angles lead to each.
void reverse_step(const Walls& walls, const Costs& costs, State& state,
                  Rng& rng) {
  const VectorXd none = VectorXd::Zero(walls.size());
  const double sign = std::copysign(
      1.0,
      std::cos(draw_angle(walls, state.f, none, costs, state.ledger, rng)));
  state.f *= sign;
  state.g *= sign;
}

}  // namespace

double draw_angle(const Walls& walls, const VectorXd& f, const VectorXd& b,
                  const Costs& costs, Ledger& ledger, Rng& rng) {
  const std::vector<Event> order = events(f, b, ledger.sides());
  const std::vector<double> energy = energies(walls, order, costs, ledger);
  const double least = *std::min_element(energy.begin(), energy.end());
  std::vector<double> mass(energy.size());
  double sum = 0;
  for (std::size_t j = 0; j < mass.size(); ++j) {
    const double length = angle_of(order, j + 1) - angle_of(order, j);
    sum += length * std::exp(least - energy[j]);
    mass[j] = sum;
  }
  const double at = rng.uniform() * sum;
  const std::size_t arc = std::min<std::size_t>(
      std::upper_bound(mass.begin(), mass.end(), at) - mass.begin(),
      mass.size() - 1);
  move_ledger(order, arc, ledger);
  const double low = angle_of(order, arc), high = angle_of(order, arc + 1);
  return low + rng.uniform() * (high - low);
}

void circle_step(const Walls& walls, const Costs& costs, State& state,
                 Rng& rng) {
  if (walls.dimension() == 1) return reverse_step(walls, costs, state, rng);
  VectorXd z = normal_vector(walls.dimension(), rng);
  // Twice, to remove the rounding error of the first time.
  const double squared = state.g.squaredNorm();
  for (int time = 0; time < 2; ++time) {
    z -= state.g.dot(z) / squared * state.g;
  }
  z *= std::sqrt(squared) / z.norm();
  const VectorXd b = walls.project(z);
  rotate(draw_angle(walls, state.f, b, costs, state.ledger, rng), b, z, state);
}

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
