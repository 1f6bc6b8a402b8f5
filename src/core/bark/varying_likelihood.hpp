#pragma once

#include "glm_likelihood.hpp"

namespace kernelbayes {
namespace bark {

/// exp(-t) of each element, infinite only where it overflows.
Eigen::ArrayXd exp_minus(const Arithmetic& arithmetic, const Eigen::ArrayXd& t);

/// y ~ N(f, 1 / weight), the weights known: the mean given the log variance,
/// (B131).
class KnownVariance : public GlmLikelihood {
 public:
  explicit KnownVariance(const Data& data);
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override;

 protected:
  Rows rows(const Eigen::VectorXd& f) const override;

 private:
  Eigen::ArrayXd y_, precision_;
};

/// y ~ N(0, exp(f) / weight): the log variance given residuals y, (B132).
class LogVariance : public GlmLikelihood {
 public:
  explicit LogVariance(const Data& data);
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override;

 protected:
  Rows rows(const Eigen::VectorXd& f) const override;

 private:
  const Arithmetic& arithmetic_;
  Eigen::ArrayXd weights_, half_square_;  // of y, times the weight
};

}  // namespace bark
}  // namespace kernelbayes
