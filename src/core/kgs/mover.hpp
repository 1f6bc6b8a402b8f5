#pragma once

#include "hmc.hpp"
#include "line.hpp"

namespace kernelbayes::kgs {

enum class Method { kCircle, kEllipse, kHmc, kCoordinate, kBlock };

/// One iteration of a method, and its adaptation during the warmup. All methods
/// leave the same posterior invariant.
class Mover {
 public:
  Mover(const Walls& walls, Method method);

  void step(const Costs& costs, State& state, Rng& rng);
  /// The axes for lines; other methods have none.
  void precondition(const Eigen::MatrixXd& curvature) {
    if (method_ == Method::kCoordinate) lines_.precondition(curvature);
  }
  /// A step of the warmup.
  void adapt(const Costs& costs, State& state, Rng& rng);
  void learn() {
    if (method_ == Method::kCoordinate) lines_.learn();
  }

  void transfer(Archive& archive) { lines_.transfer(archive); }
  double capped() const { return hmc_.capped(); }
  double events() const { return hmc_.events(); }

 private:
  int lines_each() const;

  const Walls* walls_;
  Method method_;
  Hmc hmc_;
  Lines lines_;
};

}  // namespace kernelbayes::kgs
