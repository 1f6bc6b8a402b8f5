#pragma once

#include "ledger.hpp"

namespace kernelbayes::kgs {

/// A vector with a standard normal prior, (G1): its direction is uniform on the
/// sphere, and the likelihood depends only on the direction.
struct State {
  explicit State(const Walls& walls)
      : g(Eigen::VectorXd::Zero(walls.dimension())),
        f(Eigen::VectorXd::Zero(walls.size())),
        ledger(walls) {}

  void set(const Walls& walls, const Eigen::VectorXd& to) {
    g = to;
    f = walls.project(g);
    ledger.rebuild(f);
  }

  /// The components are updated by rotations and additions; their rounding
  /// errors are removed now and then. Sides stay, because the energy was
  /// computed from them.
  void refresh(const Walls& walls) { f = walls.project(g); }

  Eigen::VectorXd g;
  Eigen::VectorXd f;  // components of g along the normals of the walls
  Ledger ledger;
};

}  // namespace kernelbayes::kgs
