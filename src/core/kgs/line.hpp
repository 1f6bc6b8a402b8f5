#pragma once

#include "kernelbayes/rng.hpp"
#include "state.hpp"

namespace kernelbayes {
namespace kgs {

/// Updates along lines: one component of the vector given the others, by slice
/// sampling (Neal, 2003). The axes are those of the coordinates at first, and
/// the principal axes of the posterior as far as it has been seen once they
/// are learned: between them little is left to be found step by step.
class Lines {
 public:
  explicit Lines(const Walls& walls);

  /// Updates along the next `count` axes, in turn.
  void step(int count, const Costs& costs, State& state, bool adapt, Rng& rng);

  /// Take the state into the covariance that learn() makes axes of.
  void note(const State& state);
  void learn();

  struct Saved {
    int at = 0;
    Eigen::VectorXd width;
    Eigen::MatrixXd axes;  // columns; empty: the coordinates
    double seen = 0;
    Eigen::VectorXd sum;
    Eigen::MatrixXd squares;
  };
  const Saved& save() const { return saved_; }
  void restore(Saved saved);

 private:
  struct Line {
    Eigen::VectorXd b;  // components of the axis along the walls
    double slope;       // of the log prior at 0
  };
  void price(const Costs& costs);
  double energy(const State& state, const Line& line, double t) const;
  double update(const Line& line, double width, State& state, double& energy,
                Rng& rng) const;
  Eigen::VectorXd axis(int j) const;

  const Walls* walls_;
  Saved saved_;
  Eigen::MatrixXd components_;  // of learned axes along the walls
  Costs costs_;
  Eigen::VectorXd middle_;  // half the energy of both sides of each wall,
  Eigen::VectorXd half_;    // half of what the positive one costs more
};

}  // namespace kgs
}  // namespace kernelbayes
