// Positive numbers with a log link.
#include <algorithm>
#include <cmath>
#include <limits>

#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

namespace {

using Array = Eigen::ArrayXd;

/// Mean exp f, variance mean^2 / shape; log shape ~ N(1, 1.5^2), (B147).
class Gamma : public GlmLikelihood {
 public:
  explicit Gamma(const Data& data)
      : GlmLikelihood(data),
        arithmetic_(*data.arithmetic),
        y_(data.y),
        log_y_(y_.log()) {
    set_parameters({1});
  }
  std::vector<double> parameters() const override { return {shape_}; }
  void set_parameters(const std::vector<double>& values) override {
    shape_ = values.at(0);
    constants_ = shape_ * std::log(shape_) - std::lgamma(shape_) +
                 (shape_ - 1) * log_y_;
  }
  void draw_parameters(Rng& rng) override {
    set_parameters({std::exp(kMiddle + kSpread * rng.normal())});
  }
  void move_parameters(const Eigen::VectorXd& f, Rng& rng) override {
    step_in_log(f, rng);
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const double y = std::exp(f[i]) * rng.gamma(shape_) / shape_;
      out[i] = std::max(y, std::numeric_limits<double>::min());
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const Array ratio = y_ * exp_minus(arithmetic_, f.array());
    return {-shape_ * (f.array() + ratio), shape_ * (ratio - 1),
            shape_ * ratio};
  }

 private:
  static constexpr double kMiddle = 1, kSpread = 1.5;
  double log_prior() const override {
    const double z = (std::log(shape_) - kMiddle) / kSpread;
    return -0.5 * z * z;
  }

  const Arithmetic& arithmetic_;
  Array y_, log_y_;
  double shape_ = 1;
};

}  // namespace

LikelihoodPtr gamma(const Data& data, const Prior&) {
  return std::make_unique<Gamma>(data);
}

}  // namespace kernelbayes::bark
