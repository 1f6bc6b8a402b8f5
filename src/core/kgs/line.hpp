#pragma once

#include "core/archive.hpp"
#include "ledger.hpp"

namespace kernelbayes::kgs {

/// Updates along lines: one component of the vector given the others, by slice
/// sampling (Neal, 2003). The axes are estimated principal axes of the
/// posterior: from the walls near a first guess, then from the draws. Along
/// them components are nearly independent, so that few updates are needed.
class Lines {
 public:
  explicit Lines(const Walls& walls);

  /// Updates along the next `count` axes, in turn.
  void step(int count, const Costs& costs, State& state, bool adapt, Rng& rng);

  /// Replaces the coordinate axes by the principal axes of a positive definite
  /// matrix.
  void precondition(const Eigen::MatrixXd& curvature);
  /// Adds the state to the covariance from which learn() computes axes.
  void note(const State& state);
  void learn();

  void transfer(Archive& archive);

 private:
  struct Line {
    const double* b;  // components of the axis along the walls
    double slope;     // of the log prior at 0
  };
  /// Where walls are met within `reach`, and the energies up to there.
  struct Near {
    double reach = 0;
    std::vector<std::pair<double, double>> ahead, behind;
  };
  // What they have learned.
  struct Learnt {
    int at = 0;
    Eigen::VectorXd width;
    Eigen::MatrixXd axes;  // columns; empty: the coordinates
    double seen = 0;
    Eigen::VectorXd sum;
    Eigen::MatrixXd squares;
  };
  void project_axes();
  void set_axes(const Eigen::MatrixXd& axes, const Eigen::VectorXd& width);
  void look(const Costs& costs, const State& state, const Line& line,
            double reach);
  double rise(const Costs& costs, const State& state, const Line& line,
              double t);
  double update(const Costs& costs, const Line& line, double width,
                const State& state, Rng& rng);
  Eigen::VectorXd axis(int j) const;

  const Walls* walls_;
  Learnt learnt_;
  Eigen::MatrixXd components_;  // of the axes along the walls
  Near near_;
};

}  // namespace kernelbayes::kgs
