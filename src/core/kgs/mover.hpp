#pragma once

#include "hmc.hpp"
#include "kernelbayes/rng.hpp"
#include "ledger.hpp"
#include "line.hpp"

namespace kernelbayes::kgs {

/// Draws theta with density proportional to exp(-E(theta)), E the energy of
/// cos(theta) g + sin(theta) z, whose components along the walls are f and b.
/// The ledger ends at theta.
double draw_angle(const Walls& walls, const Eigen::VectorXd& f,
                  const Eigen::VectorXd& b, const Costs& costs, Ledger& ledger,
                  Rng& rng);

/// The paper's circle: through the state and a uniform direction at right
/// angles to it. See derivations/kgs.md, section 2.1.
void circle_step(const Walls& walls, const Costs& costs, State& state,
                 Rng& rng);

enum class Method { kCircle, kHmc, kCoordinate, kBlock };

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

 private:
  int lines_each() const;

  const Walls* walls_;
  Method method_;
  Hmc hmc_;
  Lines lines_;
};

}  // namespace kernelbayes::kgs
