// Numbers of successes.
#include <cmath>
#include <kernelbayes/normal_cdf.hpp>
#include <limits>

#include "core/bark/coefficients/normal_interval.hpp"
#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

namespace {

using Array = Eigen::ArrayXd;

/// y of `trials` succeed, each with the same probability.
class Binomial : public GlmLikelihood {
 public:
  explicit Binomial(const Data& data)
      : GlmLikelihood(data), y_(data.y), trials_(data.trials) {
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      constants_[i] = std::lgamma(trials_[i] + 1) - std::lgamma(y_[i] + 1) -
                      std::lgamma(trials_[i] - y_[i] + 1);
    }
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const double p = probability(f[i]);
      out[i] = 0;
      for (int k = 0; k < trials_[i]; ++k) out[i] += rng.uniform() < p;
    }
    return out;
  }

 protected:
  virtual double probability(double f) const = 0;

  Array y_, trials_;
};

/// The probability is 1 / (1 + exp(-f)).
class Logit : public Binomial {
 public:
  explicit Logit(const Data& data)
      : Binomial(data), arithmetic_(*data.arithmetic) {}

 protected:
  double probability(double f) const override { return 1 / (1 + std::exp(-f)); }
  Rows rows(const Eigen::VectorXd& f) const override {
    const Logistic at(arithmetic_, f);
    return {y_ * f.array() - trials_ * at.log_sum, y_ - trials_ * at.p,
            trials_ * at.variance};
  }

 private:
  const Arithmetic& arithmetic_;
};

/// Phi(f).
class Probit : public Binomial {
 public:
  using Binomial::Binomial;

 protected:
  double probability(double f) const override {
    return std::exp(log_normal_cdf(f));
  }
  Rows rows(const Eigen::VectorXd& f) const override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Rows out{Array(f.size()), Array(f.size()), Array(f.size())};
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const double failures = trials_[i] - y_[i];
      const NormalInterval yes(-f[i], kInfinity), no(-kInfinity, -f[i]);
      out.value[i] = y_[i] * yes.log_p + failures * no.log_p;
      out.first[i] = y_[i] * yes.first + failures * no.first;
      out.minus_second[i] =
          y_[i] * yes.minus_second + failures * no.minus_second;
    }
    return out;
  }
};

}  // namespace

LikelihoodPtr binomial_logit(const Data& data, const Prior&) {
  return std::make_unique<Logit>(data);
}

LikelihoodPtr binomial_probit(const Data& data, const Prior&) {
  return std::make_unique<Probit>(data);
}

}  // namespace kernelbayes::bark
