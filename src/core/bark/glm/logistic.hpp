#pragma once

#include <Eigen/Core>

#include "core/arithmetic.hpp"

namespace kernelbayes::bark {

/// exp(-t), infinite only where it overflows.
Eigen::ArrayXd exp_minus(const Arithmetic& arithmetic, const Eigen::ArrayXd& t);

/// p = 1 / (1 + exp(-t)), p (1 - p) and log(1 + exp(t)).
struct Logistic {
  Eigen::ArrayXd p, variance, log_sum;

  Logistic(const Arithmetic& arithmetic, const Eigen::ArrayXd& t);
};

}  // namespace kernelbayes::bark
