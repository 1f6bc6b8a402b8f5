#pragma once

#include "model.hpp"

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
  double log_weights() const { return log_weights_; }  // sum of log w, halved
  /// omega; empty if the noise is not Student's.
  const Eigen::VectorXd& row_weights() const { return row_weights_; }
  /// Of Student's noise.
  double df() const { return df_; }
  void set_df(double df) { df_ = df; }
  /// For ordered classes: -inf, 0, ..., inf, and the logarithms of the gaps
  /// after 0.
  const std::vector<double>& cuts() const { return cuts_; }
  const std::vector<double>& log_gaps() const { return log_gaps_; }

  /// y, to be multiplied by sqrt(w).
  void set(Eigen::VectorXd values);
  void set_row_weights(Eigen::VectorXd row_weights);
  void set_log_gaps(std::vector<double> log_gaps);
  /// Multiplies rows by sqrt(w).
  void weigh(Eigen::Ref<Eigen::MatrixXd> columns) const;
  void transfer(Archive& archive);

 private:
  const Data* data_;
  Eigen::VectorXd values_;
  Eigen::VectorXd root_weights_;  // empty if all are 1
  Eigen::VectorXd row_weights_;
  std::vector<double> log_gaps_, cuts_;
  double squares_ = 0, log_weights_, df_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
