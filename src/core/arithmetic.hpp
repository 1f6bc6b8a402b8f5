// Loops that take most of the time of samplers with kernels. They exist for
// several instruction sets, and the widest that the processor has is chosen
// when the program runs: a package is compiled for the oldest processor. Sums
// are added in the order of one set, so results of two sets differ by rounding.
#pragma once

#include <string>

#include "linalg.hpp"

namespace kernelbayes {

/// exp_minus(), add_squares(), squared_distances(), radial(), normal() and
/// logistic() give a number the same bits at any position.
class Arithmetic {
 public:
  using Columns = Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
  using Vector = Eigen::Ref<const Eigen::VectorXd>;

  /// That of the widest set.
  static const Arithmetic& best();
  /// "avx512", "avx2" or "portable"; if the processor does not have it, the
  /// widest that it has.
  static const Arithmetic& at_most(const std::string& name);

  const char* name() const { return loops_->name; }
  /// out = exp(-x), to 1 unit in the last place.
  void exp_minus(Columns x, Eigen::Ref<Eigen::MatrixXd> out) const;
  /// out += scale (x - centre)^2.
  void add_squares(double scale, Vector x, double centre,
                   Eigen::Ref<Eigen::VectorXd> out) const;
  /// The sum over columns l of scales[l] (points(., l) - centre[l])^2.
  void squared_distances(Vector scales, Columns points, Vector centre,
                         Eigen::Ref<Eigen::VectorXd> out) const;
  /// Functions of r: exp(-r^2 / 2), exp(-r) and Matern's of 3/2 and 5/2.
  enum class Profile { kGaussian, kLaplace, kMatern32, kMatern52 };
  /// From r^2, in place; times `factors`.
  void radial(Profile profile, Vector factors,
              Eigen::Ref<Eigen::VectorXd> squares) const;
  /// Phi(x) and exp(-x^2 / 2).
  void normal(Vector x, Eigen::Ref<Eigen::VectorXd> cdf,
              Eigen::Ref<Eigen::VectorXd> bell) const;
  /// p = 1 / (1 + exp(-t)), p (1 - p) and log(1 + exp(t)), tails too.
  void logistic(Vector t, Eigen::Ref<Eigen::VectorXd> p,
                Eigen::Ref<Eigen::VectorXd> variance,
                Eigen::Ref<Eigen::VectorXd> log_sum) const;
  /// out = a x.
  void times(Columns a, Vector x, Eigen::Ref<Eigen::VectorXd> out) const;
  /// As detail::subtract_four() of cholesky.hpp, with its bits.
  using SubtractFour = void(int n, const double* a, const double* const* x,
                            double* y);
  SubtractFour* subtract_four() const { return loops_->subtract_four; }
  /// a'b.
  Eigen::MatrixXd products(Columns a, Columns b) const;
  Eigen::VectorXd product(Columns a, Vector b) const;
  /// a'a.
  Eigen::MatrixXd squares(Columns a) const;

  /// Pointers to columns of n numbers, each column `stride` after the last.
  struct Block {
    const double* first;
    Eigen::Index stride, columns, n;
  };
  /// The loops of one set; `out` of products is stored by column.
  struct Loops {
    const char* name;
    void (*exp_minus)(const double* x, double* out, Eigen::Index n);
    void (*add_squares)(double scale, const double* x, double centre,
                        double* out, Eigen::Index n);
    void (*squared_distances)(const double* scales, Block points,
                              const double* centre, double* out);
    void (*radial)(Profile profile, const double* factors, double* squares,
                   Eigen::Index n);
    SubtractFour* subtract_four;
    void (*products)(Block a, Block b, double* out, Eigen::Index stride);
    void (*normal)(const double* x, double* cdf, double* bell, Eigen::Index n);
    void (*logistic)(const double* t, double* p, double* variance,
                     double* log_sum, Eigen::Index n);
    void (*times)(Block a, const double* x, double* out);
  };

 private:
  explicit constexpr Arithmetic(const Loops& loops) : loops_(&loops) {}
  const Loops* loops_;
};

}  // namespace kernelbayes
