#include "glm_likelihood.hpp"

#include <cmath>
#include <stdexcept>

namespace kernelbayes {
namespace bark {

namespace {

/// log p(y_i | f) and its derivatives.
struct AtRow {
  double value, first, minus_second;
};

/// Family has at(i, f), an AtRow, and constant(), what log p(y | f) has beside
/// the sum of values.
template <class Family>
class OfRows : public GlmLikelihood {
 public:
  double log_likelihood(const Eigen::VectorXd& f) const override {
    double sum = family().constant();
    for (Eigen::Index i = 0; i < f.size(); ++i)
      sum += family().at(i, f[i]).value;
    return sum;
  }

  Derivatives derivatives(const Eigen::VectorXd& f) const override {
    Derivatives out{family().constant(), Eigen::VectorXd(f.size()),
                    Eigen::VectorXd(f.size())};
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const AtRow row = family().at(i, f[i]);
      out.log_likelihood += row.value;
      out.first[i] = row.first;
      out.minus_second[i] = row.minus_second;
    }
    return out;
  }

  Eigen::VectorXd each(const Eigen::VectorXd& f) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = family().at(i, f[i]).value;
    }
    return out;
  }

 private:
  const Family& family() const { return static_cast<const Family&>(*this); }
};

/// y ~ Poisson(exp f).
class Poisson : public OfRows<Poisson> {
 public:
  explicit Poisson(const Data& data) : y_(data.y) {
    for (const double y : y_) constant_ -= std::lgamma(y + 1);
  }
  double constant() const { return constant_; }
  AtRow at(Eigen::Index i, double f) const {
    const double mean = std::exp(f);
    return {y_[i] * f - mean, y_[i] - mean, mean};
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = rng.poisson(std::exp(f[i]));
    }
    return out;
  }

 private:
  Eigen::VectorXd y_;
  double constant_ = 0;
};

/// y of `trials` succeed, each with probability 1 / (1 + exp(-f)).
class Binomial : public OfRows<Binomial> {
 public:
  explicit Binomial(const Data& data) : y_(data.y), trials_(data.trials) {
    for (Eigen::Index i = 0; i < y_.size(); ++i) {
      constant_ += std::lgamma(trials_[i] + 1) - std::lgamma(y_[i] + 1) -
                   std::lgamma(trials_[i] - y_[i] + 1);
    }
  }
  double constant() const { return constant_; }
  AtRow at(Eigen::Index i, double f) const {
    const double small = std::exp(-std::abs(f));  // exp(-|f|) cannot overflow
    const double p = (f > 0 ? 1 : small) / (1 + small);
    const double n = trials_[i];
    return {y_[i] * f - n * (std::max(f, 0.0) + std::log(1 + small)),
            y_[i] - n * p, n * small / ((1 + small) * (1 + small))};
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

 private:
  Eigen::VectorXd y_, trials_;
  double constant_ = 0;
};

/// Mean exp f, variance mean + mean^2 / size; log size ~ N(0, 2^2), (B118).
class NegativeBinomial : public OfRows<NegativeBinomial> {
 public:
  explicit NegativeBinomial(const Data& data) : y_(data.y) {
    set_parameters({1});
  }
  double constant() const { return constant_; }
  AtRow at(Eigen::Index i, double f) const {
    const double y = y_[i], r = size_;
    // r log(r / (r + mean)) + y log(mean / (r + mean)), with exp(f) / r = e^t.
    const double t = f - log_size_;
    const double small = std::exp(-std::abs(t));
    const double p = (t > 0 ? 1 : small) / (1 + small);
    return {y * t - (y + r) * (std::max(t, 0.0) + std::log(1 + small)),
            y - (y + r) * p, (y + r) * small / ((1 + small) * (1 + small))};
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
    for (int i = 0; i < kTimes; ++i) {
      const double from = log_size_, before = log_posterior(f);
      const double length = std::exp2(1 - 4 * rng.uniform());
      set_parameters({std::exp(from + length * rng.normal())});
      const double log_ratio = log_posterior(f) - before;
      const bool accepted =
          log_ratio >= 0 || rng.uniform() < std::exp(log_ratio);
      if (!accepted) set_parameters({std::exp(from)});
    }
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = rng.poisson(std::exp(f[i]) * rng.gamma(size_) / size_);
    }
    return out;
  }

 private:
  static constexpr double kSpread = 2;
  double log_posterior(const Eigen::VectorXd& f) const {
    const double z = log_size_ / kSpread;
    return log_likelihood(f) - 0.5 * z * z;
  }

  Eigen::VectorXd y_;
  double size_ = 1, log_size_ = 0, constant_ = 0;
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
    default:
      throw std::invalid_argument("the family has a latent normal form");
  }
}

}  // namespace bark
}  // namespace kernelbayes
