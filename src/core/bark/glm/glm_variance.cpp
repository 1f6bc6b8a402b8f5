// The log variance of noise that varies, or twice the log scale of Student's.
#include <algorithm>
#include <cmath>

#include "core/bark/moves/moves.hpp"
#include "core/student.hpp"
#include "glm_likelihood.hpp"
#include "kernelbayes/constants.hpp"

namespace kernelbayes::bark {

namespace {

/// y ~ exp(f / 2) N(0, 1): the log variance given residuals y, (B132).
class LogVariance : public GlmLikelihood {
 public:
  explicit LogVariance(const Data& data)
      : GlmLikelihood(data),
        arithmetic_(*data.arithmetic),
        square_(data.y.array().square()),
        floor_(data.floor) {
    constants_.setConstant(-0.5 * kLogTwoPi);
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = std::exp(0.5 * std::max(f[i], floor_)) * rng.normal();
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const Eigen::ArrayXd part = 0.5 * squares(f);
    return free({-0.5 * f.array() - part, part - 0.5, part}, f);
  }
  /// y^2 exp(-f).
  Eigen::ArrayXd squares(const Eigen::VectorXd& f) const {
    return square_ * exp_minus(arithmetic_, f.array().max(floor_));
  }
  /// Of rows below the floor that at the floor, which is flat: (B135).
  Rows free(Rows rows, const Eigen::VectorXd& f) const {
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      if (f[i] >= floor_) continue;
      rows.value[i] += 0.5 * (f[i] - floor_);
      rows.first[i] = rows.minus_second[i] = 0;
    }
    return rows;
  }

 private:
  const Arithmetic& arithmetic_;
  Eigen::ArrayXd square_;
  double floor_;
};

/// y ~ exp(f / 2) times Student's t, whose degrees of freedom are one of the
/// equally probable values of the prior, (B133).
class LogScale : public LogVariance {
 public:
  LogScale(const Data& data, const Prior& prior)
      : LogVariance(data), values_(prior.df) {
    set_parameters({values_.front()});
  }
  std::vector<double> parameters() const override { return {df_}; }
  void set_parameters(const std::vector<double>& values) override {
    df_ = values.at(0);
    constants_.setConstant(constant_of(df_));
  }
  void draw_parameters(Rng& rng) override {
    set_parameters({values_[rng.index(count())]});
  }
  void move_parameters(const Eigen::VectorXd& f, Rng& rng) override {
    if (count() == 1) return;
    const Eigen::ArrayXd of = squares(f);
    Eigen::VectorXd log_p(count());
    for (std::uint32_t k = 0; k < count(); ++k) {
      const double df = values_[k];
      log_p[k] = static_cast<double>(of.size()) * constant_of(df) -
                 (df + 1) / 2 * sum_log1p(of / df);
    }
    const Eigen::VectorXd p = (log_p.array() - log_p.maxCoeff()).exp();
    const int k = choose_weighted(p, p.sum(), rng);
    if (k >= 0) set_parameters({values_[k]});
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const double half = (df_ + 1) / 2;
    const Eigen::ArrayXd of = squares(f) / df_, rest = 1 / (1 + of);
    return free({-0.5 * f.array() - half * of.log1p(), half * (1 - rest) - 0.5,
                 half * rest * (1 - rest)},
                f);
  }

 private:
  std::uint32_t count() const {
    return static_cast<std::uint32_t>(values_.size());
  }
  // Of log p at f = 0 and y = 0.
  static double constant_of(double df) {
    constexpr double kLogPi = 1.1447298858494001741;
    return log_gamma_step(df / 2) - 0.5 * (std::log(df) + kLogPi);
  }

  const std::vector<double>& values_;
  double df_ = 0;
};

}  // namespace

LikelihoodPtr log_variance(const Data& data, const Prior& prior) {
  if (prior.df.empty()) return std::make_unique<LogVariance>(data);
  return std::make_unique<LogScale>(data, prior);
}

}  // namespace kernelbayes::bark
