// The directions along which kernels see x: the columns of U, unit vectors,
// each uniform on the sphere. Both moves: (B44).
#include "core/bark/moves/moves.hpp"

namespace kernelbayes::bark {

namespace {

Eigen::VectorXd draw_normal(int p, Rng& rng) {
  Eigen::VectorXd out(p);
  for (double& value : out) value = rng.normal();
  return out;
}

Eigen::VectorXd draw_direction(int p, Rng& rng) {
  return draw_normal(p, rng).normalized();
}

// By an angle along the great circle through u and a uniform direction that is
// orthogonal to it. The reverse move is as likely: from there the same circle
// has the same density.
Eigen::VectorXd turned(const Eigen::VectorXd& u, double angle, Rng& rng) {
  Eigen::VectorXd v = draw_normal(static_cast<int>(u.size()), rng);
  v -= u.dot(v) * u;
  v.normalize();
  return (std::cos(angle) * u + std::sin(angle) * v).normalized();
}

bool try_direction(State& state, int l, Eigen::VectorXd direction, double power,
                   Rng& rng) {
  const double gain =
      state.propose_direction(l, std::move(direction)) - state.log_likelihood();
  if (!accept(power * gain, rng)) return false;
  state.accept_proposal();
  return true;
}

}  // namespace

// On a line there are two directions, and kernels are the same along both.
bool rotate_move(State& state, int l, double power, double step, Rng& rng) {
  if (state.data().p() < 2 || !state.included()[l]) return false;
  const double angle = step * rng.normal();
  return try_direction(state, l, turned(state.directions().col(l), angle, rng),
                       power, rng);
}

bool redirect_move(State& state, double power, Rng& rng) {
  if (state.prior().directions == 0) return false;
  const int l = static_cast<int>(rng.index(state.prior().directions));
  Eigen::VectorXd direction = draw_direction(state.data().p(), rng);
  if (state.included()[l]) {
    return try_direction(state, l, std::move(direction), power, rng);
  }
  state.set_idle_direction(l, direction);
  return true;
}

void draw_prior_directions(State& state, Rng& rng) {
  const int p = state.data().p(), d = state.prior().directions;
  if (d == 0) return;
  Eigen::MatrixXd out(p, d);
  for (int l = 0; l < d; ++l) out.col(l) = draw_direction(p, rng);
  state.set_directions(out);
}

}  // namespace kernelbayes::bark
