#pragma once

#include "core/bark/model.hpp"
#include "core/bark/terms/terms.hpp"

namespace kernelbayes {

class Archive;

namespace bark {

/// The response that a sum of kernels is fitted to: sqrt(w) y, with w the given
/// weights, times those of the state for Student-t noise; in a model of classes
/// the latent response, and the cut points between ordered classes.
class Response {
 public:
  /// Latent responses begin at 0, Student's weights at 1.
  explicit Response(const Data& data);

  const Eigen::VectorXd& values() const { return values_; }
  double squares() const { return squares_; }          // y'Wy
  double log_weights() const { return log_weights_; }  // log |T sqrt(w)|
  /// omega; empty if the noise is not Student's.
  const Eigen::VectorXd& row_weights() const { return row_weights_; }
  /// Of Student's noise.
  double df() const { return df_; }
  void set_df(double df) { df_ = df; }
  /// For ordered classes: -inf, 0, ..., inf, and the logarithms of the gaps
  /// after 0.
  const std::vector<double>& cuts() const { return cuts_; }
  const std::vector<double>& log_gaps() const { return log_gaps_; }

  /// y or, for latent responses, y without the offset.
  void set(Eigen::VectorXd values);
  void set_row_weights(Eigen::VectorXd row_weights);
  void set_log_gaps(std::vector<double> log_gaps);
  /// Multiplies rows by sqrt(w), then by T.
  void weigh(Eigen::Ref<Eigen::MatrixXd> columns) const;

  /// Some rows, from `first` on, by sqrt(w) only.
  void weigh_rows(Eigen::Ref<Eigen::VectorXd> rows, Eigen::Index first) const;

  const Terms& terms() const { return terms_; }
  /// The response without weights and T, offset included.
  const Eigen::VectorXd& plain() const {
    return terms_.any() ? plain_ : values_;
  }
  /// The offset, fixed terms included; empty if there are no terms.
  const Eigen::VectorXd& shift() const { return shift_; }
  /// Fixes all terms: T is 1 until they are set again.
  void fix_terms(TermValues values);
  /// What depends on terms and the noise must then be recomputed.
  void set_terms(TermValues values, bool turn, double noise,
                 Eigen::VectorXd row_weights);
  void set_noise(double noise);
  /// Of slopes.
  void set_amplitude(double amplitude, double noise);
  /// sqrt(w) times the response without fixed terms and f; takes T sqrt(w) f.
  Eigen::VectorXd residuals(const Eigen::VectorXd& fit) const;
  /// The latent response's mean without the offset, from its residuals.
  Eigen::VectorXd explained(const Eigen::VectorXd& residuals) const {
    return plain_ - shift_ - residuals;
  }
  /// f from T sqrt(w) f.
  Eigen::VectorXd unweighted(Eigen::VectorXd fit) const;
  void transfer(Archive& archive);

 private:
  void take(Eigen::VectorXd y);
  void update();

  const Data* data_;
  Terms terms_;
  double noise_ = 1;
  bool fixed_ = false;
  Eigen::VectorXd plain_, shift_;  // y and the offset, if there are terms
  Eigen::VectorXd values_;
  Eigen::VectorXd root_weights_;  // empty if all are 1
  Eigen::VectorXd row_weights_;
  std::vector<double> log_gaps_, cuts_;
  double squares_ = 0, log_weights_, df_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
