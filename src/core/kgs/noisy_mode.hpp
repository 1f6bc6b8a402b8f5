#pragma once

#include "whitened.hpp"

namespace kernelbayes::kgs {

/// Parameters that are learned besides w, one after another: log s, one common
/// logit of rates (of their bound), and h of the bandwidths.
class Parameters {
 public:
  explicit Parameters(const NoisyModel& model);

  int size() const { return size_; }
  double log_s(const Eigen::VectorXd& at) const;
  Rates rates(const Eigen::VectorXd& at) const;
  Eigen::VectorXd log_inverse(const Eigen::VectorXd& at) const;
  /// The log prior density, whose derivatives are added to `slope`.
  double log_prior(const Eigen::VectorXd& at, Eigen::VectorXd& slope) const;

  int s_at() const { return s_; }
  int rate_at() const { return rate_; }
  int h_at() const { return h_; }

 private:
  const NoisyModel* model_;
  int s_ = -1, rate_ = -1, h_ = -1, size_ = 0;
};

/// The largest rate of wrong labels that is still information.
double rate_bound(int classes);

/// The sites at the mode of w, by Fisher's scoring.
Sites find_sites(const NoisyModel& model, const Span& span, double s,
                 const Rates& rates);

/// The log density of parameters with w integrated out under the normal
/// approximation, up to a constant, and its derivatives, (G42).
double approximate_evidence(const NoisyModel& model, const Eigen::VectorXd& at,
                            Eigen::VectorXd& slope);

/// The features of the data, under a given kernel or with these bandwidths.
Span span_at(const NoisyModel& model, const Eigen::VectorXd& log_inverse);

}  // namespace kernelbayes::kgs
