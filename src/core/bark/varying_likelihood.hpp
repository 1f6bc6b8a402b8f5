#pragma once

#include "glm_likelihood.hpp"

namespace kernelbayes {
namespace bark {

/// exp(-t) of each element, infinite only where it overflows.
Eigen::ArrayXd exp_minus(const Arithmetic& arithmetic, const Eigen::ArrayXd& t);

/// y ~ N(0, exp f): the log variance given residuals y, (B132).
class LogVariance : public GlmLikelihood {
 public:
  explicit LogVariance(const Data& data);
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override;

 protected:
  Rows rows(const Eigen::VectorXd& f) const override;

 private:
  const Arithmetic& arithmetic_;
  Eigen::ArrayXd half_square_;  // of y
};

}  // namespace bark
}  // namespace kernelbayes
