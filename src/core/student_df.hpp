#pragma once

#include <vector>

#include "choose.hpp"
#include "student_density.hpp"

namespace kernelbayes {

/// Student's noise: its degrees of freedom, and one over its squared scale.
struct StudentNoise {
  double df, precision;
};

/// The noise precision with which the middle of the noise has the same width at
/// other degrees of freedom, up to a factor.
inline double matching_precision(double df) { return 1 + 0.8 / df; }

/// (B78): one of the degrees of freedom `values`, with the precision that
/// matches unless it is `known`, given f. `log_density` is that of the data,
/// row weights integrated out, and of the precision's logarithm.
template <class LogDensity>
StudentNoise draw_student_noise(const std::vector<double>& values,
                                StudentNoise now, bool known,
                                const LogDensity& log_density, Rng& rng) {
  std::vector<StudentNoise> to;
  Eigen::VectorXd log_p(values.size());
  for (const double df : values) {
    StudentNoise next{df, now.precision};
    if (!known) {
      next.precision *= matching_precision(df) / matching_precision(now.df);
    }
    log_p[to.size()] = log_density(next);
    to.push_back(next);
  }
  // The precision may be at a bound, up to rounding.
  if (!std::isfinite(log_p.maxCoeff())) return now;
  const Eigen::VectorXd p = (log_p.array() - log_p.maxCoeff()).exp();
  const int k = choose_weighted(p, p.sum(), rng);
  return k < 0 ? now : to[k];
}

}  // namespace kernelbayes
