#pragma once

#include "costs.hpp"
#include "walls.hpp"

namespace kernelbayes::kgs {

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

}  // namespace kernelbayes::kgs
