#pragma once

#include <kernelbayes/rng.hpp>

#include "likelihood.hpp"

namespace kernelbayes::bark {

/// The mode of w ~ N(0, I) given responses with f = base + A w, and the
/// Cholesky factor of minus the second derivative there. Newton's method starts
/// at 0: what it finds, converged or not, is a function of A and base only. ok
/// is false if the factor cannot be computed.
struct Mode {
  Eigen::VectorXd at;
  Eigen::MatrixXd lower;
  double log_determinant = 0;  // of the factor
  bool ok = true;
};
Mode find_mode(const Likelihood& rows, const Eigen::MatrixXd& a,
               const Eigen::VectorXd& base);

/// w, f and the log likelihood there.
struct Standardised {
  Eigen::VectorXd w, fit;
  double log_likelihood;
};
/// Elliptical slice sampling around the normal distribution at the mode, (B97).
bool ellipse_move(const Likelihood& rows, const Mode& mode,
                  const Eigen::MatrixXd& a, const Eigen::VectorXd& base,
                  Standardised& state, Rng& rng);

}  // namespace kernelbayes::bark
