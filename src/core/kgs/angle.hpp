#pragma once

#include "kernelbayes/rng.hpp"
#include "state.hpp"

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

/// The ellipse through the state and a draw from the prior (Murray, Adams and
/// MacKay, 2010), with the angle drawn exactly.
void ellipse_step(const Walls& walls, const Costs& costs, State& state,
                  Rng& rng);

}  // namespace kernelbayes::kgs
