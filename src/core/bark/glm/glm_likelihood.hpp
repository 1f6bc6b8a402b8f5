#pragma once

#include <Eigen/Core>
#include <kernelbayes/rng.hpp>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/bark/coefficients/mode.hpp"
#include "core/bark/model.hpp"

namespace kernelbayes::bark {

/// exp(-t), infinite only where it overflows.
Eigen::ArrayXd exp_minus(const Arithmetic& arithmetic, const Eigen::ArrayXd& t);

/// p = 1 / (1 + exp(-t)), p (1 - p) and log(1 + exp(t)).
struct Logistic {
  Eigen::ArrayXd p, variance, log_sum;

  Logistic(const Arithmetic& arithmetic, const Eigen::ArrayXd& t);
};

/// The likelihood of a family whose responses have no latent normal form, with
/// its parameters beside f.
class GlmLikelihood : public Likelihood {
 public:
  explicit GlmLikelihood(const Data& data);
  double log_likelihood(const Eigen::VectorXd& f) const override {
    return constant() + weighted(f).value.sum();
  }
  Derivatives derivatives(const Eigen::VectorXd& f) const override;
  /// log p(y_i | f_i) of each row, up to constants.
  Eigen::VectorXd each(const Eigen::VectorXd& f) const {
    return weighted(f).value;
  }

  virtual std::vector<double> parameters() const { return {}; }
  /// Of ordered classes, whose parameters are the gaps between them.
  virtual std::vector<double> cuts() const { return {}; }
  /// Of families with noise, whose scale is their only parameter.
  virtual double noise_precision() const { return 1; }
  virtual void set_parameters(const std::vector<double>&) {}
  /// From their prior, or given f.
  virtual void draw_parameters(Rng&) {}
  virtual void move_parameters(const Eigen::VectorXd&, Rng&) {}
  /// Responses given f.
  virtual Eigen::VectorXd simulate(const Eigen::VectorXd& f,
                                   Rng& rng) const = 0;

 protected:
  /// Of each row, log p(y_i | f_i) up to what constants_ has, its derivative,
  /// and minus the second one.
  struct Rows {
    Eigen::ArrayXd value, first, minus_second;
  };
  virtual Rows rows(const Eigen::VectorXd& f) const = 0;

  /// Moves of each parameter, all positive, given f.
  void step_in_log(const Eigen::VectorXd& f, Rng& rng);
  /// log of the prior density of their logarithms.
  virtual double log_prior() const { return 0; }

  Eigen::ArrayXd constants_;

 private:
  Rows weighted(const Eigen::VectorXd& f) const;
  double constant() const {
    return weights_.size() > 0 ? (weights_ * constants_).sum()
                               : constants_.sum();
  }

  /// A row of weight w is w rows; empty: all weights are 1.
  Eigen::ArrayXd weights_;
};

// Those of families, given their responses.
LikelihoodPtr poisson(const Data& data, const Prior& prior);
LikelihoodPtr negative_binomial(const Data& data, const Prior& prior);
LikelihoodPtr gamma(const Data& data, const Prior& prior);
LikelihoodPtr binomial_logit(const Data& data, const Prior& prior);
LikelihoodPtr binomial_probit(const Data& data, const Prior& prior);
LikelihoodPtr ordered_probit(const Data& data, const Prior& prior);
LikelihoodPtr log_variance(const Data& data, const Prior& prior);
LikelihoodPtr censored_normal(const Data& data, const Prior& prior);
LikelihoodPtr censored_extreme(const Data& data, const Prior& prior);

}  // namespace kernelbayes::bark
