#pragma once

#include <Eigen/Core>

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

}  // namespace kernelbayes::bark
