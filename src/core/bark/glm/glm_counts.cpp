// Counts with a log link.
#include <cmath>

#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

namespace {

using Array = Eigen::ArrayXd;

/// y ~ Poisson(exp f).
class Poisson : public GlmLikelihood {
 public:
  explicit Poisson(const Data& data)
      : GlmLikelihood(data), arithmetic_(*data.arithmetic), y_(data.y) {
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      constants_[i] = -std::lgamma(y_[i] + 1);
    }
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = rng.poisson(std::exp(f[i]));
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const Array mean = exp_minus(arithmetic_, -f.array());
    return {y_ * f.array() - mean, y_ - mean, mean};
  }

 private:
  const Arithmetic& arithmetic_;
  Array y_;
};

/// Mean exp f, variance mean + mean^2 / size; log size ~ N(0, 2^2), (B118).
class NegativeBinomial : public GlmLikelihood {
 public:
  explicit NegativeBinomial(const Data& data)
      : GlmLikelihood(data), arithmetic_(*data.arithmetic), y_(data.y) {
    set_parameters({1});
  }
  std::vector<double> parameters() const override { return {size_}; }
  void set_parameters(const std::vector<double>& values) override {
    size_ = values.at(0);
    log_size_ = std::log(size_);
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      constants_[i] = std::lgamma(y_[i] + size_) - std::lgamma(size_) -
                      std::lgamma(y_[i] + 1);
    }
  }
  void draw_parameters(Rng& rng) override {
    set_parameters({std::exp(kSpread * rng.normal())});
  }
  void move_parameters(const Eigen::VectorXd& f, Rng& rng) override {
    step_in_log(f, rng);
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = rng.poisson(std::exp(f[i]) * rng.gamma(size_) / size_);
    }
    return out;
  }

 protected:
  // size log(size / (size + mean)) + y log(mean / (size + mean)), with mean =
  // size exp(t).
  Rows rows(const Eigen::VectorXd& f) const override {
    const Array t = f.array() - log_size_, total = y_ + size_;
    const Logistic at(arithmetic_, t);
    return {y_ * t - total * at.log_sum, y_ - total * at.p,
            total * at.variance};
  }

 private:
  static constexpr double kSpread = 2;
  double log_prior() const override {
    const double z = log_size_ / kSpread;
    return -0.5 * z * z;
  }

  const Arithmetic& arithmetic_;
  Array y_;
  double size_ = 1, log_size_ = 0;
};

}  // namespace

LikelihoodPtr poisson(const Data& data, const Prior&) {
  return std::make_unique<Poisson>(data);
}

LikelihoodPtr negative_binomial(const Data& data, const Prior&) {
  return std::make_unique<NegativeBinomial>(data);
}

}  // namespace kernelbayes::bark
