#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mixture.hpp"
#include "student_mixture.hpp"

namespace kernelbayes {

/// P(f + e <= z) for f normal and e Student-t, to about 1e-5: a table of the
/// lower tail over z / (1 + |z|) and the share of e in the scale of the sum.
class SumTable {
 public:
  /// `df` may be infinite: e is normal.
  explicit SumTable(double df) : df_(df), points_(kCells * (kShares + 1)) {
    for (int k = 0; k <= kShares; ++k) {
      const double own = k / double(kShares), other = 1 - own;
      const double size = std::hypot(own, other);
      if (k == 0 || std::isinf(df)) {
        fill(k, NormalMixture{1, &kOne, &kZero, &kOne});
      } else {
        const double variance = std::pow(other / size, 2);
        const double noise = std::pow(own / size, 2);
        const StudentRules rules(df, 10);
        fill(k, StudentMixture{1, &kOne, &kZero, &variance, &noise, rules});
      }
    }
  }

  double df() const { return df_; }

  /// A sum with these standard deviation of f and scale of e: its own scale,
  /// and where it is among the shares.
  struct Shape {
    double scale, upper;  // weight of the next share
    int first;            // of its points
  };
  Shape shape(double sd, double scale) const {
    const double at = kShares * scale / std::max(sd + scale, 1e-150);
    const int k = std::min(static_cast<int>(at), kShares - 1);
    return {std::max(std::hypot(sd, scale), 1e-150), at - k, k * kCells};
  }

  /// `z`: in units of its scale.
  double below(double z, const Shape& shape) const {
    const double size = std::abs(z), at = kCells * size / (1 + size);
    const int j = std::min(static_cast<int>(at), kCells - 2);
    const double t = std::min(at - j, 1.0);
    const Point* a = &points_[shape.first + j];
    const Point* b = a + kCells;
    const double q = shape.upper, p = 1 - q, s = 1 - t;
    double tail = s * s *
                      ((1 + 2 * t) * (p * a[0].value + q * b[0].value) +
                       t * (p * a[0].slope + q * b[0].slope)) +
                  t * t *
                      ((1 + 2 * s) * (p * a[1].value + q * b[1].value) -
                       s * (p * a[1].slope + q * b[1].slope));
    // Beyond the table Student's tail is a power.
    if (size > kCells - 1) tail *= std::pow((kCells - 1) / size, df_);
    return z < 0 ? tail : 1 - tail;
  }

 private:
  struct Point {
    double value, slope;  // slope: per cell
  };

  template <typename Mixture>
  void fill(int k, const Mixture& sum) {
    for (int j = 0; j < kCells; ++j) {
      const double z = j / double(kCells - j);
      const double jacobian = std::pow(1 + z, 2) / kCells;
      points_[k * kCells + j] = point(sum, z, jacobian);
    }
  }
  static Point point(const NormalMixture& sum, double z, double jacobian) {
    return {sum.tail(-z, 1), -sum.density(-z) * jacobian};
  }
  static Point point(const StudentMixture& sum, double z, double jacobian) {
    const Tail at = sum.tail(-z, 1);
    return {at.probability, -at.density * jacobian};
  }

  static constexpr int kCells = 64, kShares = 32;
  static constexpr double kZero = 0, kOne = 1;
  double df_;
  std::vector<Point> points_;
};

/// The distribution function of a mixture of sums f + e, and its continuous
/// ranked probability score.
class SumMixture {
 public:
  /// `df`: of each component, or one number for all.
  explicit SumMixture(const std::vector<double>& df) {
    for (const double value : df) {
      const auto known = std::find_if(
          tables_.begin(), tables_.end(),
          [value](const SumTable& table) { return table.df() == value; });
      table_of_.push_back(static_cast<std::size_t>(known - tables_.begin()));
      if (known == tables_.end()) tables_.emplace_back(value);
      least_df_ = std::min(least_df_, value);
    }
  }

  /// `noise`: the squared scales of e.
  template <typename Row, typename Noise>
  void set(const Eigen::VectorXd& weights, const Row& means,
           const Row& variances, const Noise& noise) {
    const Eigen::Index n = means.size();
    parts_.resize(n);
    centre_ = weights.dot(means.transpose());
    scale_ = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const SumTable& table = tables_[table_of_[table_of_.size() == 1 ? 0 : i]];
      parts_[i] = {weights[i], means[i], &table,
                   table.shape(std::sqrt(variances[i]), std::sqrt(noise[i]))};
      scale_ +=
          weights[i] * (std::abs(means[i] - centre_) + parts_[i].shape.scale);
    }
  }

  double below(double x) const {
    double sum = 0;
    for (const Part& part : parts_) {
      sum += part.weight *
             part.table->below((x - part.mean) / part.shape.scale, part.shape);
    }
    return sum;
  }

  /// The integral of (F(x) - 1{x >= y})^2, over u with x = centre + scale
  /// sinh(u), and beyond as of a power.
  double crps(double y) const {
    if (!(least_df_ > 0.5)) return std::numeric_limits<double>::infinity();
    const double at = std::asinh((y - centre_) / scale_);
    return side(-1, at) + side(1, at);
  }

 private:
  struct Part {
    double weight, mean;
    const SumTable* table;
    SumTable::Shape shape;
  };

  // What lies beyond y, below it for sign = -1.
  double side(double sign, double at) const {
    const auto tail = [&](double u) {
      const double p = below(centre_ + scale_ * std::sinh(u));
      return sign < 0 ? p : 1 - p;
    };
    const auto value = [&](double u) {
      return std::cosh(u) * std::pow(tail(u), 2);
    };
    const double end = sign * std::max(kEnd, sign * at);
    const int panels = static_cast<int>(std::ceil(std::abs(end - at) / kPanel));
    const double step = (end - at) / std::max(panels, 1);
    double sum =
        std::pow(tail(end), 2) * std::abs(std::sinh(end)) / (2 * least_df_ - 1);
    double first = value(at);
    for (int k = 0; k < panels; ++k) {
      const double a = at + k * step, b = a + step, last = value(b);
      sum += sign * simpson(value, a, b, first, value(a + step / 2), last, 12);
      first = last;
    }
    return scale_ * sum;
  }

  template <typename Function>
  static double simpson(const Function& f, double a, double b, double fa,
                        double fm, double fb, int depth) {
    const double m = (a + b) / 2;
    const double fl = f((a + m) / 2), fr = f((m + b) / 2);
    const double whole = (b - a) / 6 * (fa + 4 * fm + fb);
    const double halves = (b - a) / 12 * (fa + 4 * fl + 2 * fm + 4 * fr + fb);
    if (depth == 0 || !(std::abs(halves - whole) > kClose)) {
      return halves + (halves - whole) / 15;
    }
    return simpson(f, a, m, fa, fl, fm, depth - 1) +
           simpson(f, m, b, fm, fr, fb, depth - 1);
  }

  static constexpr double kEnd = 5, kPanel = 1.3, kClose = 5e-5;

  double least_df_ = std::numeric_limits<double>::infinity();
  double centre_ = 0, scale_ = 0;
  std::vector<SumTable> tables_;
  std::vector<std::size_t> table_of_;
  std::vector<Part> parts_;
};

}  // namespace kernelbayes
