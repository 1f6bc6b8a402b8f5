#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernelbayes/constants.hpp"
#include "mixture.hpp"

namespace kernelbayes {

/// The trapezoidal rule in u = log omega for omega ~ Gamma(df / 2, df / 2),
/// which makes a normal variable with variance 1 / omega Student-t: (S35).
///
/// For f ~ N(m, v) and a residual r the integrand in u behaves as the density
/// of a gamma variable's logarithm, exp(a (u - e^u)), with df / 2 <= a <= (df +
/// 1) / 2 and its mode moved to the left by up to log((df + (r^2 + v) / noise)
/// / df). It is analytic for |Im u| < pi / 2, so that the error falls
/// exponentially in 1 / h: as |Gamma(a + i y)| / Gamma(a) at y = 2 pi / h, from
/// which h is chosen. The truncation error is of the same order. Nodes run from
/// the top downwards, as far as a residual requires.
class StudentRule {
 public:
  /// `digits` is minus the natural logarithm of the relative error.
  explicit StudentRule(double df, double digits = 18)
      : df_(df),
        shape_(df / 2),
        digits_(digits),
        step_(trapezoid_step((df + 1) / 2)) {
    const double a = (df + 1) / 2;
    top_ = std::max(std::log1p(1 / df) + fall(a, 1), fall(shape_, 1));
    margin_ = fall(a, -1);
    const double bottom = std::max(-fall(shape_, -1), -400.0);
    const double wanted = 2 + (top_ - bottom) / step_;
    const int held = static_cast<int>(std::min(wanted, 2000.0));
    log_norm_ = std::log(step_);
    if (df < 200) {
      log_norm_ += shape_ * std::log(shape_) - std::lgamma(shape_) - shape_;
      for (int j = 0; j < held; ++j) table_.push_back(compute(j));
    } else {  // the difference of large numbers; the table holds all the mass
      double sum = 0;
      for (int j = 0; j < held; ++j) sum += compute(j).weight;
      log_norm_ -= std::log(sum);
      for (int j = 0; j < held; ++j) table_.push_back(compute(j));
    }
    const double ratio = std::exp(-shape_ * step_);
    rest_ = ratio / (1 - ratio);
  }

  struct Node {
    double variance, weight, log_weight;  // of 1 / omega
  };
  /// Beyond the table it is computed into `spare`. No copy: copies cost much.
  const Node& node(int j, Node& spare) const {
    if (j < held()) return table_[j];
    return spare = compute(j);
  }

  /// Variances and weights of nodes from the first on.
  void copy(int first, Eigen::Ref<Eigen::VectorXd> variance,
            Eigen::Ref<Eigen::VectorXd> weight) const {
    Node spare;
    for (int k = 0; k < variance.size(); ++k) {
      const Node& at = node(first + k, spare);
      variance[k] = at.variance;
      weight[k] = at.weight;
    }
  }

  /// The nodes needed for (r^2 + v) / noise.
  int size(double ratio) const {
    const double low = std::log((df_ + 1) / (df_ + ratio)) - margin_;
    return 2 + static_cast<int>((top_ - std::max(low, -700.0)) / step_);
  }

  /// The weight of all nodes beyond a last one, relative to its weight.
  double rest() const { return rest_; }

  double df() const { return df_; }

 private:
  int held() const { return static_cast<int>(table_.size()); }

  // The point between 0 and `upper` where an increasing f equals `target`.
  template <typename Function>
  static double bisect(double upper, double target, Function f) {
    double lower = 0;
    for (int i = 0; i < 100; ++i) {
      const double middle = 0.5 * (lower + upper);
      (f(middle) < target ? lower : upper) = middle;
    }
    return upper;
  }

  // Where exp(a (u - e^u)) has fallen to the error, right or left of 0.
  double fall(double a, int side) const {
    const double target = digits_ / a;
    if (side < 0) {
      return bisect(target + 1, target,
                    [](double d) { return std::expm1(-d) + d; });
    }
    const double upper =
        std::min(std::sqrt(2 * target), std::log1p(target) + 10);
    return bisect(upper, target, [](double d) { return std::expm1(d) - d; });
  }

  // |Gamma(a + i y)| / Gamma(a) by Stirling's formula: (S36).
  double trapezoid_step(double a) const {
    const auto digits = [a](double y) {
      const double r = y / a;
      return y * std::atan(r) - 0.5 * (a - 0.5) * std::log1p(r * r);
    };
    return kTwoPi / bisect(100 + 100 * std::sqrt(a), digits_, digits);
  }

  Node compute(int j) const {
    const double u = top_ - j * step_;
    const double log_weight = log_norm_ + shape_ * (u - std::expm1(u));
    return {std::exp(-u), std::exp(log_weight), log_weight};
  }

  static constexpr double kTwoPi = 6.28318530717958647693;

  double df_, shape_, digits_, step_;
  double top_ = 0, margin_ = 0, log_norm_ = 0, rest_ = 0;
  std::vector<Node> table_;
};

/// One rule per component of a mixture; components with equal degrees of
/// freedom share one.
class StudentRules {
 public:
  /// `df`: of each component, or one number for all.
  explicit StudentRules(const std::vector<double>& df, double digits = 18) {
    for (const double value : df) {
      const auto known = std::find_if(
          rules_.begin(), rules_.end(),
          [value](const StudentRule& rule) { return rule.df() == value; });
      of_.push_back(static_cast<std::size_t>(known - rules_.begin()));
      if (known == rules_.end()) rules_.emplace_back(value, digits);
    }
  }
  explicit StudentRules(double df, double digits = 18)
      : StudentRules(std::vector<double>{df}, digits) {}
  const StudentRule& of(int component) const {
    return rules_[of_.size() == 1 ? of_[0] : of_[component]];
  }
  double least_df() const {
    double least = std::numeric_limits<double>::infinity();
    for (const StudentRule& rule : rules_) least = std::min(least, rule.df());
    return least;
  }

 private:
  std::vector<StudentRule> rules_;
  std::vector<std::size_t> of_;
};

/// A mixture of n variables f + e with f ~ N(mean, variance) and e Student-t
/// with scale^2 = noise: new responses given the draws of a robust regression.
struct StudentMixture {
  int n;
  const double* weights;  // sum to one
  const double* means;
  const double* variances;
  const double* noise;
  const StudentRules& rules;

  /// Of the lower tail, or of the upper one for sign = -1.
  Tail tail(double x, double sign) const {
    constexpr Eigen::Index kBlock = 1024;
    NormalSums sums(kBlock);
    Tail sum;
    Eigen::Index used = 0;
    for (int i = 0; i < n; ++i) {
      if (weights[i] == 0) continue;
      const double r = sign * (means[i] - x);
      const int size = nodes(i, r);
      for (int done = 0; done < size;) {
        const Eigen::Index more =
            std::min<Eigen::Index>(size - done, kBlock - used);
        fill(i, r, done, used, more, sums);
        done += static_cast<int>(more);
        used += more;
        // If the weights decrease slowly, the normal's sd is now so large that
        // half of its mass is below, as for all further nodes.
        if (done == size) sums.weight[used - 1] *= 1 + rules.of(i).rest();
        if (used < kBlock) continue;
        sums.add_to(sum, used);
        used = 0;
      }
    }
    sums.add_to(sum, used);
    return sum;
  }

  double log_density(double x) const {
    LogSum sum;
    for (int i = 0; i < n; ++i) {
      if (weights[i] > 0) add_log_density(i, x - means[i], sum);
    }
    return sum.value() - kHalfLogTwoPi;
  }

  /// The p-quantile. `z` and `t` are the quantiles of the standard normal and
  /// of Student's t with the least degrees of freedom at p, z_half and t_half
  /// those at half of the smaller tail: X is beyond their sum only if one of
  /// the two terms is beyond its own quantile. `below(x)` is P(X <= x) to 1e-5,
  /// for first steps.
  template <typename Below>
  double quantile(double p, double z, double t, double z_half, double t_half,
                  const Below& below) const {
    const double sign = z < 0 ? 1 : -1, target = z < 0 ? p : 1 - p;
    double lower = std::numeric_limits<double>::infinity(), upper = -lower;
    double start = 0, spread = 0;
    for (int i = 0; i < n; ++i) {
      if (weights[i] == 0) continue;
      const double sd = std::sqrt(variances[i]), scale = std::sqrt(noise[i]);
      const double far =
          means[i] - sign * (std::abs(z_half) * sd + std::abs(t_half) * scale);
      lower = std::min({lower, means[i], far});
      upper = std::max({upper, means[i], far});
      start += weights[i] * (means[i] - sign * std::hypot(z * sd, t * scale));
      spread += weights[i] * std::hypot(sd, scale);
    }
    // A last step may be across an end: at the median of one component.
    const double step = 1e-3 * spread;
    lower -= step;
    upper += step;
    const bool first = target > 1e-2;
    if (first) {
      start = tail_quantile(
          lower, upper, start, target, sign, 1e-3,
          [&](double x) { return sign > 0 ? below(x) : 1 - below(x); },
          [&](double x) {
            return std::max(below(x + step) - below(x - step), 1e-9) /
                   (2 * step);
          });
    }
    // A step's error is the square of its size relative to the quantile, which
    // a tail of few degrees of freedom makes large.
    const double close = first ? 5e-4 * std::min(rules.least_df(), 1.0) : 1e-5;
    double density = 0;
    return tail_quantile(
        lower, upper, start, target, sign, close,
        [&](double x) {
          const Tail at = tail(x, sign);
          density = at.density;
          return at.probability;
        },
        [&](double) { return density; });
  }

 private:
  // The logarithm of a sum of terms that may all underflow.
  struct LogSum {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    void add(double log_term) {
      if (log_term <= largest) {
        if (log_term > largest - 45) sum += std::exp(log_term - largest);
      } else {
        sum = sum * std::exp(largest - log_term) + 1;
        largest = log_term;
      }
    }
    double value() const { return largest + std::log(sum); }
  };

  int nodes(int i, double r) const {
    return rules.of(i).size((r * r + variances[i]) / noise[i]);
  }

  // P(X <= mean - r) is the sum over nodes of weight Phi(-r / sd).
  void fill(int i, double r, int first, Eigen::Index at, Eigen::Index count,
            NormalSums& sums) const {
    auto x = sums.x.segment(at, count);
    auto weight = sums.weight.segment(at, count);
    rules.of(i).copy(first, x, weight);
    weight *= weights[i];
    x = (variances[i] + noise[i] * x.array()).rsqrt();
    sums.height.segment(at, count) = weight.cwiseProduct(x);
    x *= -r;
  }

  void add_log_density(int i, double r, LogSum& sum) const {
    const StudentRule& rule = rules.of(i);
    const int size = nodes(i, r);
    const double log_weight = std::log(weights[i]);
    StudentRule::Node spare;
    for (int j = 0; j < size; ++j) {
      const StudentRule::Node& node = rule.node(j, spare);
      const double variance = variances[i] + noise[i] * node.variance;
      const double u = r / std::sqrt(variance);
      sum.add(log_weight + node.log_weight -
              0.5 * (std::log(variance) + u * u));
    }
  }
};

}  // namespace kernelbayes
