#include "glm_likelihood.hpp"

#include <cmath>
#include <stdexcept>

#include "varying_likelihood.hpp"

namespace kernelbayes {
namespace bark {

GlmLikelihood::Derivatives GlmLikelihood::derivatives(
    const Eigen::VectorXd& f) const {
  Rows at = rows(f);
  return {constant_ + at.value.sum(), std::move(at.first),
          std::move(at.minus_second)};
}

namespace {

using Array = Eigen::ArrayXd;

// exp(-|t|), which cannot overflow.
Array exp_minus_size(const Arithmetic& arithmetic, const Array& t) {
  const Eigen::VectorXd size = t.abs();
  Eigen::MatrixXd out(size.size(), 1);
  arithmetic.exp_minus(size, out);
  return out.col(0);
}

/// p = 1 / (1 + exp(-t)), p (1 - p) and log(1 + exp(t)).
struct Logistic {
  Array p, variance, log_sum;

  Logistic(const Arithmetic& arithmetic, const Array& t) {
    const Array small = exp_minus_size(arithmetic, t);
    const Array sum = 1 + small;
    p = (t > 0).select(1 / sum, small / sum);
    variance = small / sum.square();
    log_sum = t.max(0) + sum.log();
  }
};

/// y ~ Poisson(exp f).
class Poisson : public GlmLikelihood {
 public:
  explicit Poisson(const Data& data)
      : arithmetic_(*data.arithmetic), y_(data.y) {
    for (const double y : y_) constant_ -= std::lgamma(y + 1);
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
    const Array small = exp_minus_size(arithmetic_, f);
    const Array mean = (f.array() > 0).select(1 / small, small);
    return {y_ * f.array() - mean, y_ - mean, mean};
  }

 private:
  const Arithmetic& arithmetic_;
  Array y_;
};

/// y of `trials` succeed, each with probability 1 / (1 + exp(-f)).
class Binomial : public GlmLikelihood {
 public:
  explicit Binomial(const Data& data)
      : arithmetic_(*data.arithmetic), y_(data.y), trials_(data.trials) {
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      constant_ += std::lgamma(trials_[i] + 1) - std::lgamma(y_[i] + 1) -
                   std::lgamma(trials_[i] - y_[i] + 1);
    }
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const double p = 1 / (1 + std::exp(-f[i]));
      out[i] = 0;
      for (int k = 0; k < trials_[i]; ++k) out[i] += rng.uniform() < p;
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const Logistic at(arithmetic_, f);
    return {y_ * f.array() - trials_ * at.log_sum, y_ - trials_ * at.p,
            trials_ * at.variance};
  }

 private:
  const Arithmetic& arithmetic_;
  Array y_, trials_;
};

/// Mean exp f, variance mean + mean^2 / size; log size ~ N(0, 2^2), (B118).
class NegativeBinomial : public GlmLikelihood {
 public:
  explicit NegativeBinomial(const Data& data)
      : arithmetic_(*data.arithmetic), y_(data.y) {
    set_parameters({1});
  }
  std::vector<double> parameters() const override { return {size_}; }
  void set_parameters(const std::vector<double>& values) override {
    size_ = values.at(0);
    log_size_ = std::log(size_);
    constant_ = 0;
    for (const double y : y_) {
      constant_ +=
          std::lgamma(y + size_) - std::lgamma(size_) - std::lgamma(y + 1);
    }
  }
  void draw_parameters(Rng& rng) override {
    set_parameters({std::exp(kSpread * rng.normal())});
  }
  // Steps of random length in log size.
  void move_parameters(const Eigen::VectorXd& f, Rng& rng) override {
    constexpr int kTimes = 4;
    double before = log_posterior(f);
    for (int i = 0; i < kTimes; ++i) {
      const double from = size_;
      const double length = std::exp2(1 - 4 * rng.uniform());
      set_parameters({from * std::exp(length * rng.normal())});
      const double after = log_posterior(f), log_ratio = after - before;
      if (log_ratio >= 0 || rng.uniform() < std::exp(log_ratio)) {
        before = after;
      } else {
        set_parameters({from});
      }
    }
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
  double log_posterior(const Eigen::VectorXd& f) const {
    const double z = log_size_ / kSpread;
    return log_likelihood(f) - 0.5 * z * z;
  }

  const Arithmetic& arithmetic_;
  Array y_;
  double size_ = 1, log_size_ = 0;
};

}  // namespace

std::unique_ptr<GlmLikelihood> make_likelihood(const Data& data) {
  switch (data.family) {
    case Family::kPoisson:
      return std::make_unique<Poisson>(data);
    case Family::kBinomial:
      return std::make_unique<Binomial>(data);
    case Family::kNegativeBinomial:
      return std::make_unique<NegativeBinomial>(data);
    case Family::kLogVariance:
      return std::make_unique<LogVariance>(data);
    default:
      throw std::invalid_argument("the family has a latent normal form");
  }
}

}  // namespace bark
}  // namespace kernelbayes
