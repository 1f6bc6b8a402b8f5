// The kernels behind the values of kernel.hpp, one class per family. A scalar
// bandwidth b applies to all columns, a vector has one entry per column: r^2 /
// b^2 means sum_c (x_c - y_c)^2 / b_c^2.
//
// Only std::exp and the like: the scalar tails of packet versions differ from
// their bodies by an ulp.
#pragma once

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "constants.hpp"
#include "kernel_tiles.hpp"

namespace kernelbayes {

namespace kernels {

using Eigen::Index;
using VectorRef = Eigen::Ref<Eigen::VectorXd>;

class Node {
 public:
  virtual ~Node() = default;
  virtual void check_dimension(Index d) const {
    if (d < 1) throw std::invalid_argument("a kernel needs a column");
  }
  virtual void block(const ConstMatrixRef& x, const ConstMatrixRef& y,
                     MatrixRef& out) const = 0;
  virtual void diagonal(const ConstMatrixRef& x, VectorRef& out) const = 0;
};

inline void check_positive(double value, const char* name) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw std::invalid_argument(std::string(name) +
                                " must be positive and finite");
  }
}

inline void check_positive(const Eigen::VectorXd& values, const char* name) {
  if (values.size() < 1) {
    throw std::invalid_argument(std::string(name) + " must not be empty");
  }
  for (Index c = 0; c < values.size(); ++c) check_positive(values[c], name);
}

inline void check_bandwidth(const Eigen::VectorXd& bandwidth, Index d) {
  if (bandwidth.size() != 1 && bandwidth.size() != d) {
    throw std::invalid_argument(
        "a bandwidth must have length 1 or one entry "
        "per column (" +
        std::to_string(d) + ")");
  }
}

// Finite, so that zero distance times it is zero.
inline Eigen::VectorXd finite_inverse(const Eigen::VectorXd& values) {
  return values.cwiseInverse().cwiseMin(std::numeric_limits<double>::max());
}

// Profiles: k as a function of s = r^2 / b^2.
struct GaussianProfile {
  double operator()(double s) const { return std::exp(-0.5 * s); }
};

struct LaplaceProfile {
  double operator()(double s) const { return std::exp(-std::sqrt(s)); }
};

struct Matern32Profile {
  double operator()(double s) const {
    const double t = std::min(std::sqrt(3 * s), 1e3);  // exp(-t) is 0 there
    return (1 + t) * std::exp(-t);
  }
};

struct Matern52Profile {
  double operator()(double s) const {
    const double t = std::min(std::sqrt(5 * s), 1e3);
    return (1 + t + t * t / 3) * std::exp(-t);
  }
};

struct RationalQuadraticProfile {
  double alpha;
  double operator()(double s) const {
    return std::pow(1 + s / (2 * alpha), -alpha);
  }
};

// k(x, y) = profile(r^2 / b^2)
class Radial : public Node {
 public:
  explicit Radial(const Eigen::VectorXd& bandwidth) {
    check_positive(bandwidth, "bandwidth");
    factor_ = finite_inverse(bandwidth);
    const double b = bandwidth[0];
    scale_last_ = bandwidth.size() == 1 && b > 1e-100 && b < 1e100;
    if (scale_last_) scale_ = 1 / (b * b);
  }

  void check_dimension(Index d) const override {
    Node::check_dimension(d);
    check_bandwidth(factor_, d);
  }

  void block(const ConstMatrixRef& x, const ConstMatrixRef& y,
             MatrixRef& out) const override {
    const auto finish = [this](double* values, Index n) {
      profile(values, n, scale_);
    };
    if (scale_last_) {
      tiles::sum_over_columns(x, y, tiles::SquaredDifference{}, finish, out);
    } else {
      const Index step = factor_.size() == 1 ? 0 : 1;
      tiles::sum_over_columns(
          x, y, tiles::ScaledSquaredDifference{factor_.data(), step}, finish,
          out);
    }
  }

  void diagonal(const ConstMatrixRef&, VectorRef& out) const override {
    out.setOnes();
  }

 protected:
  // values[i] = profile(scale * values[i])
  virtual void profile(double* values, Index n, double scale) const = 0;

 private:
  Eigen::VectorXd factor_;  // 1 / b
  bool scale_last_;         // r^2 first, then times 1 / b^2
  double scale_ = 1;
};

template <class Profile>
class RadialOf final : public Radial {
 public:
  RadialOf(const Eigen::VectorXd& bandwidth, Profile profile)
      : Radial(bandwidth), profile_(profile) {}

 protected:
  void profile(double* values, Index n, double scale) const override {
    for (Index i = 0; i < n; ++i) values[i] = profile_(scale * values[i]);
  }

 private:
  Profile profile_;
};

// k(x, y) = exp(-2 sum_c sin^2(pi (x_c - y_c) / period) / b_c^2)
class Periodic final : public Node {
 public:
  Periodic(const Eigen::VectorXd& bandwidth, double period) {
    check_positive(bandwidth, "bandwidth");
    check_positive(period, "period");
    factor_ = finite_inverse(bandwidth.cwiseAbs2());
    frequency_ = std::min(kPi / period,
                          std::numeric_limits<double>::max());
  }

  void check_dimension(Index d) const override {
    Node::check_dimension(d);
    check_bandwidth(factor_, d);
  }

  void block(const ConstMatrixRef& x, const ConstMatrixRef& y,
             MatrixRef& out) const override {
    const Index step = factor_.size() == 1 ? 0 : 1;
    tiles::sum_over_columns(
        x, y, tiles::SquaredSine{frequency_, factor_.data(), step},
        [](double* values, Index n) {
          for (Index i = 0; i < n; ++i) values[i] = std::exp(-2 * values[i]);
        },
        out);
  }

  void diagonal(const ConstMatrixRef&, VectorRef& out) const override {
    out.setOnes();
  }

 private:
  Eigen::VectorXd factor_;
  double frequency_;
};

// k(x, y) = (x'y + offset)^degree
class InnerProduct final : public Node {
 public:
  InnerProduct(int degree, double offset, Index columns = 0)
      : degree_(degree), offset_(offset), columns_(columns) {
    if (degree < 1) throw std::invalid_argument("degree must be at least 1");
    if (!(offset >= 0) || !std::isfinite(offset)) {
      throw std::invalid_argument("offset must be finite and at least 0");
    }
  }

  void check_dimension(Index d) const override {
    Node::check_dimension(d);
    if (columns_ > 0 && d != columns_) {
      throw std::invalid_argument("the kernel needs " +
                                  std::to_string(columns_) + " columns, not " +
                                  std::to_string(d));
    }
  }

  void block(const ConstMatrixRef& x, const ConstMatrixRef& y,
             MatrixRef& out) const override {
    tiles::sum_over_columns(
        x, y, tiles::Product{},
        [this](double* values, Index n) { finish(values, n); }, out);
  }

  void diagonal(const ConstMatrixRef& x, VectorRef& out) const override {
    tiles::sum_on_diagonal(x, tiles::Product{}, out.data());
    finish(out.data(), out.size());
  }

 private:
  void finish(double* values, Index n) const {
    if (degree_ == 1 && offset_ == 0) return;
    for (Index i = 0; i < n; ++i) values[i] = power(values[i] + offset_);
  }

  double power(double base) const {
    double result = 1;
    for (int k = degree_; k > 0; k >>= 1, base *= base) {
      if (k & 1) result *= base;
    }
    return result;
  }

  int degree_;
  double offset_;
  Index columns_;
};

class Constant final : public Node {
 public:
  explicit Constant(double value) : value_(value) {
    if (!(value >= 0) || !std::isfinite(value)) {
      throw std::invalid_argument("value must be finite and at least 0");
    }
  }
  void block(const ConstMatrixRef&, const ConstMatrixRef&,
             MatrixRef& out) const override {
    out.setConstant(value_);
  }
  void diagonal(const ConstMatrixRef&, VectorRef& out) const override {
    out.setConstant(value_);
  }

 private:
  double value_;
};

}  // namespace kernels
}  // namespace kernelbayes
