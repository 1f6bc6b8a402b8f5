#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace kernelbayes::bark {

/// Voigt's function Re w(x + iy), w(z) = exp(-z^2) erfc(-iz), for y > 0: the
/// average of exp(-t^2) over Cauchy t around x with scale y. By the trapezoidal
/// rule, to a relative error of about 1e-13: (B140).
class Voigt {
 public:
  static double at(double x, double y) {
    x = std::abs(x);
    if (std::max(x, y) > 1e8) return far(x, y);
    const double turns = x / kStep;
    const double turn = turns - std::floor(turns);
    // x is at least a quarter of a step from all nodes.
    const bool between = turn < 0.25 || turn > 0.75;
    const double sum = y * sum_of(between ? halves() : wholes(), x, y * y);
    const double log_size = y * y - x * x;
    if (y >= kPi / kStep || log_size < -700) return sum;
    return sum + residue(x * y, y, 2 * kPi * turn, between ? -1 : 1) *
                     std::exp(log_size);
  }

 private:
  static constexpr double kPi = 3.14159265358979323846, kStep = 0.5;
  static constexpr int kNodes = 14;

  // To a relative error of 2 |z|^-2; fourth powers of larger numbers would
  // overflow.
  static double far(double x, double y) {
    const double size = std::hypot(x, y);
    return y / size / size / std::sqrt(kPi);
  }

  // Points t and -t, with their weights step / pi exp(-t^2).
  struct Nodes {
    std::array<double, kNodes> at, square, weight;
    explicit Nodes(double first) {
      for (int k = 0; k < kNodes; ++k) {
        at[k] = (k + first) * kStep;
        square[k] = at[k] * at[k];
        weight[k] = 2 * kStep / kPi * std::exp(-square[k]);
      }
      if (first == 0) weight[0] /= 2;
    }
  };
  static const Nodes& wholes() {
    static const Nodes nodes(0);
    return nodes;
  }
  static const Nodes& halves() {
    static const Nodes nodes(0.5);
    return nodes;
  }

  // Of 1 / ((x - t)^2 + y^2), the mean of t and -t.
  static double sum_of(const Nodes& nodes, double x, double y2) {
    double sum = 0;
    for (int k = 0; k < kNodes; ++k) {
      const double less = x - nodes.at[k], more = x + nodes.at[k];
      sum += nodes.weight[k] * (x * x + nodes.square[k] + y2) /
             ((less * less + y2) * (more * more + y2));
    }
    return sum;
  }

  // Re 2 exp(-2ixy) / (1 - sign r exp(-i angle)), r = exp(2 pi y / step).
  static double residue(double xy, double y, double angle, int sign) {
    const double r = sign * std::exp(2 * kPi * y / kStep);
    const double real = 1 - r * std::cos(angle), imag = r * std::sin(angle);
    return 2 * (std::cos(2 * xy) * real - std::sin(2 * xy) * imag) /
           (real * real + imag * imag);
  }
};

}  // namespace kernelbayes::bark
