// The log variance of noise that varies.
#include <cmath>

#include "glm_likelihood.hpp"
#include "kernelbayes/constants.hpp"
#include "logistic.hpp"

namespace kernelbayes {
namespace bark {

namespace {

/// y ~ N(0, exp f): the log variance given residuals y, (B132).
class LogVariance : public GlmLikelihood {
 public:
  explicit LogVariance(const Data& data)
      : GlmLikelihood(data),
        arithmetic_(*data.arithmetic),
        half_square_(0.5 * data.y.array().square()) {
    constants_.setConstant(-0.5 * kLogTwoPi);
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = std::exp(0.5 * f[i]) * rng.normal();
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const Eigen::ArrayXd part =
        half_square_ * exp_minus(arithmetic_, f.array());
    return {-0.5 * f.array() - part, part - 0.5, part};
  }

 private:
  const Arithmetic& arithmetic_;
  Eigen::ArrayXd half_square_;  // of y
};

}  // namespace

LikelihoodPtr log_variance(const Data& data, const Prior&) {
  return std::make_unique<LogVariance>(data);
}

}  // namespace bark
}  // namespace kernelbayes
