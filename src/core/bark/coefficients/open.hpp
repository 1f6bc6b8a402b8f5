#pragma once

#include <cmath>
#include <optional>

#include "core/bark/scales/scales.hpp"
#include "core/bark/state/state.hpp"
#include "mode.hpp"

namespace kernelbayes::bark {

/// log(2 cosh(t)).
inline double log_cosh(double t) {
  const double size = std::abs(t);
  return size + std::log1p(std::exp(-2 * size));
}

/// The classes of rows as intervals of their latent responses f + N(0, 1); an
/// end may be infinite.
class Intervals : public Likelihood {
 public:
  Eigen::VectorXd lower, upper;

  Intervals(Eigen::VectorXd from, Eigen::VectorXd to)
      : lower(std::move(from)), upper(std::move(to)) {}
  /// log of the probability of all rows, (B89), and (B90).
  double log_likelihood(const Eigen::VectorXd& f) const override;
  Derivatives derivatives(const Eigen::VectorXd& f) const override;
  /// Latent responses given f.
  Eigen::VectorXd draw(const Eigen::VectorXd& f, Rng& rng) const;
};

/// For two classes or ordered ones.
Intervals class_intervals(const State& state);

/// A state with its coefficients, and without latent responses and varphi:
/// beta_j of a slot with n_j copies has the Cauchy density of width n_j eps
/// (alpha = 1), f = sqrt(a) K beta with a the amplitude, and the classes have
/// the probabilities of Intervals. Latent responses hold each f_i to within a
/// standard deviation or so, even where classes are well separated and f may be
/// anything large; without them it is free. A change of one kernel costs O(n).
///
/// While varphi is held, see hold(), changes of scales carry the coefficients
/// along.
class OpenState {
 public:
  /// The largest |asinh(beta / width)|: (beta / width)^2 overflows beyond 355.
  static constexpr double kLargest = 300;

  /// Draws the coefficients; ok() is false if they cannot be computed, which
  /// depends on the kernels only.
  OpenState(const State& state, Intervals rows, Rng& rng);
  bool ok() const { return ok_; }
  /// Draws varphi and latent responses, and gives the state all of it.
  void give(State& state, Rng& rng) const;

  const Data& data() const { return *data_; }
  const Prior& prior() const { return *prior_; }
  const Pool& pool() const { return *pool_; }
  int size() const { return static_cast<int>(slots_.size()); }
  int copies() const { return copies_; }
  const Slot& slot(int j) const { return slots_[j]; }
  int find(int location) const;
  double beta(int j) const { return beta_[j]; }
  /// Of the prior of beta_j.
  double width(int j) const { return prior_->eps * slots_[j].copies; }
  double log_likelihood() const { return log_likelihood_; }
  Eigen::VectorXd exponents(int j) const { return columns_.exponents().col(j); }
  const std::vector<double>& log_lambda() const {
    return columns_.log_lambda();
  }
  const std::vector<char>& included() const { return columns_.included(); }
  int n_included() const { return columns_.n_included(); }

  struct NewColumn {
    Place place;
    Eigen::VectorXd exponents, values;
  };
  NewColumn make_column(const Place& place) const;

  // Each is a Metropolis-Hastings step, with log_ratio the log of the ratio of
  // priors and proposals; true if it was accepted.
  bool set_coefficient(int j, double beta, double log_ratio, Rng& rng);
  bool set_copies(int j, int copies, double log_ratio, Rng& rng);
  bool add(NewColumn column, double beta, double log_ratio, Rng& rng);
  /// The last slot moves to the place of j.
  bool remove(int j, double log_ratio, Rng& rng);
  /// With its coefficient.
  bool move(int j, NewColumn column, double log_ratio, Rng& rng);
  /// The common scales.
  bool change(const ScaleChange& change, double log_ratio, Rng& rng);

  /// Hamiltonian dynamics of all coefficients and common scales.
  struct Followed {
    bool moved = false;
    double probability = 0;
  };
  Followed follow(double step, int steps, Rng& rng);

  /// Draws varphi; until release() the coefficients are carried along when
  /// common scales change, and nothing else may change.
  void hold(Rng& rng);
  void release() { held_.reset(); }
  /// While varphi is held: new coefficients.
  bool ellipse(Rng& rng);

 private:
  /// The standardised coefficients are w = sqrt(a) beta / s given varphi, s^2 =
  /// a n^2 / varphi.
  class Path;
  struct Held {
    Eigen::VectorXd s;
    Mode mode;
  };

  Eigen::Ref<const Eigen::MatrixXd> columns() const {
    return columns_.values().leftCols(size());
  }
  std::vector<Place> places() const;
  bool take(Eigen::VectorXd fit, double log_ratio, Rng& rng);
  bool carry(double log_ratio, Rng& rng);
  /// w, and its change.
  Eigen::VectorXd standardised() const;
  void take_standardised(const Eigen::VectorXd& w);
  Mode carried_mode(Eigen::Ref<const Eigen::MatrixXd> columns,
                    const Eigen::VectorXd& s) const;

  const Data* data_;
  const Prior* prior_;
  const Pool* pool_;
  const Response* response_;
  Intervals rows_;
  KernelColumns columns_;
  std::vector<Slot> slots_;  // varphi is not used
  std::vector<double> beta_;
  std::vector<int> at_;
  int copies_;
  double root_amplitude_, log_likelihood_ = 0;
  Eigen::VectorXd fit_;
  bool ok_ = true;
  std::optional<Held> held_;
};

// Moves of an OpenState, each with the ratio of derivations/bark.md, section
// 6.4. True if the state changed.

/// One coefficient, a step of asinh(beta / width) of random length.
bool coefficient_move(OpenState& state, Rng& rng);
bool birth_death_move(OpenState& state, Rng& rng);
/// A slot moves, with all its copies and its coefficient.
bool relocate_move(OpenState& state, Rng& rng);
bool local_move(OpenState& state, Rng& rng);
/// Those of scales are in moves.hpp. They end in one of these, for all kernels
/// or for one: (B35), with the coefficients kept or, while varphi is held,
/// carried along. The power is not used.
bool try_scales(OpenState& state, const ScaleChange& change, double log_ratio,
                double power, Rng& rng);
bool move_kernel(OpenState& state, int j, const Place& place, double log_ratio,
                 double power, Rng& rng);

}  // namespace kernelbayes::bark
