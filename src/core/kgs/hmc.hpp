#pragma once

#include "kernelbayes/rng.hpp"
#include "ledger.hpp"

namespace kernelbayes::kgs {

/// Exact Hamiltonian dynamics for a normal prior and a piecewise constant
/// likelihood: rotations between walls, at which the velocity is refracted or
/// reflected (Pakman and Paninski, 2014; Mohasel Afshar and Domke, 2015).
class Hmc {
 public:
  explicit Hmc(const Walls& walls);  // with a Gram matrix

  /// A trajectory of length pi / 2 times a uniform factor in (.8, 1.2). The
  /// state stays if it has more events than the bound, as it would in reverse.
  void step(const Costs& costs, State& state, Rng& rng);

 private:
  struct Next {
    int wall;
    double time;
  };
  Next next(const State& state, int last) const;
  void meet(int wall, double left, const Costs& costs, State& state);
  void rotate(double time, State& state);

  const Walls* walls_;
  Eigen::VectorXd velocity_;  // components along the normals
  Eigen::VectorXd kicks_;     // of each wall, to be summed at the end
  Eigen::VectorXd buffer_, before_;
  mutable Eigen::ArrayXd key_;
};

}  // namespace kernelbayes::kgs
