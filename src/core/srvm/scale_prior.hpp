#pragma once

#include <Eigen/Core>
#include <cmath>
#include <kernelbayes/rng.hpp>

namespace kernelbayes::srvm {

/// Of the inverse bandwidths of the predictors, learned: independent half-t
/// variables, (S50). A predictor whose inverse bandwidth is near 0 has no
/// effect.
struct ScalePrior {
  double scale = 1, df = 4;

  /// Of their logarithms, up to a constant.
  double log_density(const Eigen::VectorXd& log_inverse) const {
    double sum = 0;
    for (const double u : log_inverse) {
      const double ratio = std::exp(u) / scale;
      sum += u - 0.5 * (df + 1) * std::log1p(ratio * ratio / df);
    }
    return sum;
  }

  Eigen::VectorXd draw(int p, Rng& rng) const {
    Eigen::VectorXd out(p);
    for (double& u : out) {
      const double precision = rng.gamma(df / 2) / (df / 2);
      u = std::log(scale * std::abs(rng.normal()) / std::sqrt(precision));
    }
    return out;
  }
};

}  // namespace kernelbayes::srvm
