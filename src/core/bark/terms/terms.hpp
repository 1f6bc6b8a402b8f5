#pragma once

#include "core/bark/model.hpp"
#include "whitening.hpp"

namespace kernelbayes {

class Archive;

namespace bark {

/// The degrees of freedom of the half-t priors of standard deviations.
constexpr double kGroupDf = 3;

/// That of all slopes, (B143).
class SlopeSd {
 public:
  SlopeSd(const TermData& data, double value)
      : scale_(data.slope_scale), slopes_(data.slopes), value_(value) {}
  double value() const { return value_; }
  /// Given the sum of squares of the slopes.
  void draw(double squares, Rng& rng);
  void draw_prior(Rng& rng);
  /// (B144): it and the slopes by one factor, 1 + grow.
  struct Stretch {
    double grow, log_ratio;
  };
  Stretch propose(Rng& rng) const;
  void take(const Stretch& stretch) { value_ *= 1 + stretch.grow; }

 private:
  double log_prior(double value) const;
  double scale_;
  int slopes_;
  double value_;
};

/// The coefficients of terms and the covariances of groups, (B99), (B100).
struct TermValues {
  Eigen::VectorXd gamma;
  struct Factor {
    Eigen::MatrixXd b;          // q x groups
    Eigen::MatrixXd sigma;      // q x q
    Eigen::VectorXd auxiliary;  // a of (B100)
  };
  std::vector<Factor> factors;
  double slope_sd = 0;
};

/// The terms of a response beside its kernels, part of the state. Those that
/// are *active* are integrated out: X gamma, and a factor together with the
/// factors it is nested in. The coefficients of other factors are part of the
/// offset; factors take turns, (B102).
class Terms {
 public:
  explicit Terms(const TermData& data);

  bool any() const { return data_->any(); }
  const TermData& data() const { return *data_; }
  const TermValues& values() const { return values_; }
  void set(TermValues values) { values_ = std::move(values); }
  /// The next factor becomes active.
  void turn();

  /// The part of the offset, n numbers.
  Eigen::VectorXd shift() const;
  /// Of the slopes: their variance is that of the prior times it.
  void set_amplitude(double amplitude) { amplitude_ = amplitude; }
  double amplitude() const { return amplitude_; }
  /// Must be called when values, the noise or weights have changed;
  /// `root_weights` is empty if all are 1. `integrate`: otherwise T is 1.
  void build(const Eigen::VectorXd& root_weights, double noise, bool integrate);
  /// Of columns with rows multiplied by sqrt(w): see Whitening.
  void apply(Eigen::Ref<Eigen::MatrixXd> columns) const;
  void undo(Eigen::Ref<Eigen::VectorXd> column) const;
  double log_determinant() const;

  /// New coefficients of the active terms given `residuals`, sqrt(w) (y -
  /// shift() - f), which become sqrt(w) (y - all terms - f).
  TermValues draw(Eigen::VectorXd& residuals, Rng& rng) const;
  /// New coefficients of the other factors given all else, with the residuals.
  void draw_inactive(Eigen::VectorXd& residuals, TermValues& values,
                     Rng& rng) const;
  /// Takes the active terms out of sqrt(w) (y - shift() - f).
  void subtract_active(const TermValues& values,
                       Eigen::VectorXd& residuals) const;
  /// All of it from the prior.
  TermValues draw_prior(Rng& rng) const;

  /// Prior standard deviations of gamma.
  Eigen::VectorXd linear_sd() const { return linear_sd(values_); }
  /// sqrt(w) times the part of the slopes.
  Eigen::VectorXd weighted_slopes(const TermValues& values) const;

  /// X gamma and Z b, n numbers.
  Eigen::VectorXd fit(const TermValues& values) const;
  /// sqrt(w) Z b of one factor, or of one of its coefficients.
  Eigen::VectorXd weighted(const TermValues& values, int factor,
                           int coefficient = -1) const;

  void transfer(Archive& archive);

 private:
  Eigen::VectorXd linear_sd(const TermValues& values) const;
  Eigen::MatrixXd weigh(Eigen::MatrixXd columns) const;
  Whitening block(int factor, Eigen::MatrixXd u) const;
  bool is_active(int factor) const;

  const TermData* data_;
  TermValues values_;
  std::vector<std::vector<int>> chains_;  // factors that can be active together
  int turn_ = 0;
  Eigen::VectorXd root_weights_;
  double noise_ = 1, amplitude_ = 1;
  std::vector<Whitening> blocks_;  // of the active factors, then of X gamma
};

/// Covariances given the coefficients of groups: (B104).
void draw_covariances(const TermData& data, TermValues& values, Rng& rng);

}  // namespace bark
}  // namespace kernelbayes
