#include "surrogate.hpp"

#include <algorithm>

#include "../decompositions.hpp"

namespace kernelbayes::kgs {

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
