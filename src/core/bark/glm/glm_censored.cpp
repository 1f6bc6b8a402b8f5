// Numbers f + sigma * noise, known up to an interval.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bark/coefficients/normal_interval.hpp"
#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

namespace {

using Array = Eigen::ArrayXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log p of noise, or of an interval of it, its derivative by the noise, along
/// which both ends move, and minus the second one.
struct Noise {
  double value, first, minus_second;
};

/// N(0, 1): (B121).
struct Normal {
  static Noise at(double e) { return {log_normal_density(e), -e, 1}; }
  static Noise between(double from, double to) {
    const NormalInterval of(from, to);
    return {of.log_p, -of.first, of.minus_second};
  }
  static double draw(Rng& rng) { return rng.normal(); }
};

/// The log of an exponential variable, the least of many: (B122).
struct Extreme {
  static Noise at(double e) {
    const double hazard = std::exp(e);
    return {e - hazard, 1 - hazard, hazard};
  }
  static Noise between(double from, double to) {
    const double start = std::exp(from), gain = std::exp(to) - start;
    const double r = share(gain);
    return {log_reached(gain) - start, r - start,
            std::max(0.0, start + (r > 0 ? r * (gain + r - 1) : 0))};
  }
  static double draw(Rng& rng) { return std::log(-std::log1p(-rng.uniform())); }

 private:
  // log(1 - exp(-gain)), and its derivative by log(gain).
  static double log_reached(double gain) {
    return gain < 1 ? std::log(-std::expm1(-gain))
                    : std::log1p(-std::exp(-gain));
  }
  static double share(double gain) {
    if (gain == 0) return 1;
    return gain < kInfinity ? gain / std::expm1(gain) : 0;
  }
};

/// y = f + sigma * noise lies between `data.y` and `data.upper`, which may be
/// infinite; where they are equal it is known. sigma^-2 has the prior of a
/// noise precision, (B120).
template <class Shape>
class Censored : public GlmLikelihood {
 public:
  Censored(const Data& data, const Prior& prior)
      : GlmLikelihood(data), lower_(data.y), upper_(data.upper), prior_(prior) {
    const double fixed = 1 / std::sqrt(prior.noise_precision);
    set_parameters({prior.noise_fixed ? fixed : 1});
  }
  std::vector<double> parameters() const override { return {sigma_}; }
  void set_parameters(const std::vector<double>& values) override {
    sigma_ = values.at(0);
  }
  double noise_precision() const override { return 1 / (sigma_ * sigma_); }
  void draw_parameters(Rng& rng) override {
    if (prior_.noise_fixed) return;
    sigma_ = 1 / std::sqrt(prior_.draw_noise(0, 0, rng));
  }
  void move_parameters(const Eigen::VectorXd& f, Rng& rng) override {
    if (!prior_.noise_fixed) step_in_log(f, rng);
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = f[i] + sigma_ * Shape::draw(rng);
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    Rows out{Array(f.size()), Array(f.size()), Array(f.size())};
    const double slope = 1 / sigma_, log_sigma = std::log(sigma_);
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const double e = (lower_[i] - f[i]) * slope;
      const bool known = lower_[i] == upper_[i];
      const Noise row =
          known ? Shape::at(e) : Shape::between(e, (upper_[i] - f[i]) * slope);
      out.value[i] = row.value - (known ? log_sigma : 0);
      out.first[i] = -slope * row.first;
      out.minus_second[i] = slope * slope * row.minus_second;
    }
    return out;
  }

 private:
  double log_prior() const override {
    const double precision = noise_precision();
    return prior_.noise_shape * std::log(precision) -
           prior_.noise_rate * precision;
  }

  Array lower_, upper_;
  const Prior& prior_;
  double sigma_ = 1;
};

}  // namespace

LikelihoodPtr censored_normal(const Data& data, const Prior& prior) {
  return std::make_unique<Censored<Normal>>(data, prior);
}

LikelihoodPtr censored_extreme(const Data& data, const Prior& prior) {
  return std::make_unique<Censored<Extreme>>(data, prior);
}

}  // namespace kernelbayes::bark
