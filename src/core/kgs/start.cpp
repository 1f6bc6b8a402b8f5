#include "start.hpp"

#include <algorithm>

#include "core/decompositions.hpp"

namespace kernelbayes::kgs {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// The sides that the labels require, times a margin; false if labels disagree.
bool targets(const Walls& walls, VectorXd& out, Rng& rng) {
  out.resize(walls.size());
  for (int k = 0; k < walls.size(); ++k) {
    out[k] = (walls.begin(k)->positive ? 1 : -1) * (1 + rng.uniform());
    for (auto m = walls.begin(k); m != walls.end(k); ++m) {
      if (m->positive != walls.begin(k)->positive) return false;
    }
  }
  return true;
}

// The minimum of penalty |g|^2 + sum over short margins (target - f)^2, if the
// same margins stay short.
VectorXd newton(const MatrixXd& normals, const VectorXd& target,
                const VectorXd& f, double penalty) {
  VectorXd active = VectorXd::Zero(f.size());
  for (int k = 0; k < f.size(); ++k) {
    active[k] = f[k] * target[k] < target[k] * target[k] ? 1 : 0;
  }
  const MatrixXd used = active.asDiagonal() * normals;
  MatrixXd curvature =
      penalty * MatrixXd::Identity(normals.cols(), normals.cols());
  curvature.selfadjointView<Eigen::Lower>().rankUpdate(used.transpose());
  return linalg::PositiveSolver(curvature).solve(
      VectorXd(used.transpose() * target));
}

}  // namespace

bool separate(const Walls& walls, State& state, Rng& rng) {
  VectorXd target;
  if (!targets(walls, target, rng)) return false;
  const MatrixXd normals = walls.normals();
  state.set(walls, VectorXd::Zero(walls.dimension()));
  for (double penalty = 1; penalty > 1e-13; penalty /= 10) {
    for (int step = 0; step < 5; ++step) {
      state.set(walls, newton(normals, target, state.f, penalty));
      if (state.ledger.errors() == 0) return true;
    }
  }
  return false;
}

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Labels that require the positive side minus those that require the other.
VectorXd majorities(const Walls& walls) {
  VectorXd out = VectorXd::Zero(walls.size());
  for (int k = 0; k < walls.size(); ++k) {
    for (auto m = walls.begin(k); m != walls.end(k); ++m) {
      out[k] += m->positive ? 1 : -1;
    }
  }
  return out;
}

// From the nearest fifth of the walls.
VectorXd near_walls(const VectorXd& f) {
  VectorXd distance = f.cwiseAbs();
  if (f.size() == 0) return f;
  std::vector<double> sorted(distance.begin(), distance.end());
  const auto fifth = sorted.begin() + sorted.size() / 5;
  std::nth_element(sorted.begin(), fifth, sorted.end());
  return (distance.array() <= *fifth).cast<double>();
}

}  // namespace

Surrogate surrogate(const Walls& walls) {
  const MatrixXd normals = walls.normals();
  const int n = walls.dimension();
  MatrixXd square = MatrixXd::Identity(n, n);
  square.selfadjointView<Eigen::Lower>().rankUpdate(normals.transpose());
  Surrogate out;
  out.mode = linalg::PositiveSolver(square).solve(
      VectorXd(normals.transpose() * majorities(walls)));
  // Labels that cancel leave no direction.
  const double length = out.mode.norm();
  if (length > 0) out.mode *= std::sqrt(static_cast<double>(n)) / length;
  const MatrixXd used = near_walls(normals * out.mode).asDiagonal() * normals;
  out.curvature = MatrixXd::Identity(n, n);
  out.curvature.selfadjointView<Eigen::Lower>().rankUpdate(used.transpose());
  out.curvature.triangularView<Eigen::StrictlyUpper>() =
      out.curvature.transpose();
  return out;
}

}  // namespace kernelbayes::kgs
