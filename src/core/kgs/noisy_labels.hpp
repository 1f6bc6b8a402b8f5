#pragma once

#include "../arithmetic.hpp"
#include "noise.hpp"

namespace kernelbayes::kgs {

/// Labels of functions with noise of variance 1 that may also be wrong, (G33):
/// p = a + b P with P the probability that the class with the noise is the
/// label. With two classes P is a probit of one function. With C > 2 it is a
/// softmax of C functions, the noise being Gumbel; only their contrasts matter,
/// of which there are C - 1.
class NoisyLabels {
 public:
  /// @param weight Of each datum in the log likelihood; empty: 1.
  NoisyLabels(std::vector<int> label, int classes, Eigen::VectorXd weight);

  int size() const { return static_cast<int>(label_.size()); }
  int classes() const { return classes_; }
  int functions() const { return classes_ == 2 ? 1 : classes_ - 1; }
  /// Of two classes the function, of more those of all classes, (G50).
  int all_functions() const { return classes_ == 2 ? 1 : classes_; }
  /// From columns of functions to those of all functions, which add up to 0,
  /// and back.
  Eigen::MatrixXd all_of(const Eigen::MatrixXd& functions) const;
  Eigen::MatrixXd contrasts_of(const Eigen::MatrixXd& all) const;
  int label(int datum) const { return label_[datum]; }

  /// P of each datum; eta: data x functions.
  Eigen::VectorXd shares(const Eigen::MatrixXd& eta) const;
  /// The log likelihood, of shares or of eta.
  double value_of(const Eigen::VectorXd& shares, const Rates& rates) const;
  double value(const Eigen::MatrixXd& eta, const Rates& rates) const;
  /// And its derivatives with respect to eta and to one common rate.
  double value(const Eigen::MatrixXd& eta, const Rates& rates,
               Eigen::MatrixXd& slope, double& rate_slope) const;
  /// The expected curvature of each datum by each of all functions, (G35).
  Eigen::MatrixXd information(const Eigen::MatrixXd& eta,
                              const Rates& rates) const;
  /// The probability that each label is wrong, (G34).
  Eigen::VectorXd wrong(const Eigen::MatrixXd& eta, const Rates& rates) const;

 private:
  struct Mixture {
    double base, gain;  // a and b
  };
  Mixture mixture(int label, const Rates& rates) const;
  Eigen::VectorXd margins(const Eigen::MatrixXd& eta) const;
  Eigen::MatrixXd softmax(const Eigen::MatrixXd& eta) const;
  Eigen::VectorXd own(const Eigen::MatrixXd& classes) const;
  Eigen::VectorXd probabilities(const Eigen::VectorXd& shares,
                                const Rates& rates) const;
  double sum_of_logs_by_weight(const Eigen::VectorXd& p) const;
  bool is_remote(int datum, double margin, const Rates& rates) const;
  double below_floor(const Eigen::MatrixXd& eta, const Eigen::VectorXd& p,
                     const Rates& rates) const;
  double weight(int datum) const {
    return weight_.size() == 0 ? 1 : weight_[datum];
  }

  std::vector<int> label_;
  int classes_;
  Eigen::VectorXd weight_, sign_;  // +1 or -1 of two classes
  Eigen::MatrixXd contrasts_;      // classes x functions, orthonormal columns
};

/// The sd of the standard Gumbel distribution: a softmax of this times
/// functions has noise of variance 1.
constexpr double kGumbel = 1.28254983016186409554;

}  // namespace kernelbayes::kgs
