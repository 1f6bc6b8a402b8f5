#pragma once

#include <Eigen/Core>
#include <cmath>
#include <kernelbayes/rng.hpp>

namespace kernelbayes::bark {

/// log p(y | f) of all rows, a product over rows, and its derivatives by each
/// f_i. Minus the second is not negative.
class Likelihood {
 public:
  struct Derivatives {
    double log_likelihood;
    Eigen::VectorXd first, minus_second;
  };

  virtual ~Likelihood() = default;
  virtual double log_likelihood(const Eigen::VectorXd& f) const = 0;
  virtual Derivatives derivatives(const Eigen::VectorXd& f) const = 0;
};

/// The angles of elliptical slice sampling (Murray, Adams and MacKay, 2010):
/// `take(cos, sin)` moves to the point at an angle if it is in the slice, and
/// says so. False if no angle was found; the state then stays.
template <class Take>
bool slice_ellipse(Take take, Rng& rng) {
  constexpr double kTwoPi = 6.28318530717958647692;
  constexpr int kTries = 60;
  double angle = kTwoPi * rng.uniform(), low = angle - kTwoPi, high = angle;
  for (int i = 0; i < kTries; ++i) {
    if (take(std::cos(angle), std::sin(angle))) return true;
    (angle < 0 ? low : high) = angle;
    angle = low + (high - low) * rng.uniform();
  }
  return false;
}

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
