#pragma once

#include <cmath>
#include <vector>

#include "walls.hpp"

namespace kernelbayes::kgs {

/// Replaces an infinite cost: a power of two, so that multiples by counts are
/// exact and changes of energy add up to exactly 0.
constexpr double kForbidden = 0x1p997;

/// The cost of a wrong label in log likelihood, by class of the label.
using Costs = std::vector<double>;

/// For one rate of wrong labels in all `classes` classes: log((1 - q) (C - 1) /
/// q), (G2).
inline double cost_of_rate(double q, int classes) {
  return q > 0 ? std::log((1 - q) * (classes - 1) / q) : kForbidden;
}

/// On which side of each wall a vector lies, and thus which labels are wrong. A
/// label is right if the vector is on the right side of all walls of the datum.
class Ledger {
 public:
  explicit Ledger(const Walls& walls);

  /// From components along the normals; 0 counts as negative.
  void rebuild(const Eigen::VectorXd& f);
  /// From the sides themselves, 1 or -1.
  void restore(const Eigen::VectorXd& sides);

  /// The change in the energy (G4), the cost of all wrong labels, when wall k
  /// is crossed.
  double change(int k, const Costs& costs) const;
  void cross(int k);

  const Eigen::VectorXd& sides() const { return side_; }
  /// Wrong labels by class; whether one datum's label is wrong.
  const std::vector<int>& wrong() const { return wrong_; }
  bool is_wrong(int datum) const { return off_[datum] > 0; }
  int errors() const;
  double energy(const Costs& costs) const;

 private:
  void count();

  const Walls* walls_;
  Eigen::VectorXd side_;
  std::vector<int> off_;  // for each datum, walls on the wrong side
  std::vector<int> wrong_;
};

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
