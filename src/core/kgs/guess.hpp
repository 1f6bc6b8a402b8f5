#pragma once

#include "../archive.hpp"
#include "noisy_mode.hpp"

namespace kernelbayes::kgs {

/// Logits of rates, (G49): log(rate / rest), where the rest is what rates leave
/// of their bound.
Eigen::VectorXd logits_of(const Rates& rates, double bound);
Rates rates_of(const Eigen::VectorXd& logits, double bound);

/// The normal approximation of the posterior by which a chain moves: the mode
/// at the start, then averages of draws of the warmup.
struct Guess {
  explicit Guess(const NoisyModel& model);

  Eigen::VectorXd h(const Eigen::VectorXd& x) const {
    return proposal.centre + proposal.root * x;
  }
  Eigen::VectorXd x(const Eigen::VectorXd& h) const {
    return proposal.root.triangularView<Eigen::Lower>().solve(h -
                                                              proposal.centre);
  }
  double expected_log_s(const Eigen::VectorXd& x) const {
    return log_s + proposal.slope.dot(x);
  }
  void transfer(Archive& archive);

  Normals normals;  // of all functions
  Proposal proposal;
  double log_s;
  /// The factor of the covariance of log s and logits of rates given x.
  Eigen::MatrixXd root;
  /// Derivatives of the pull less the precision times eta with respect to
  /// these: data and all functions x parameters.
  Eigen::MatrixXd drift;
};

/// Averages of draws in the warmup, (G49).
class Averages {
 public:
  void add(const NoisyModel& model, const Eigen::VectorXd& x, double log_s,
           const Rates& rates, const Eigen::MatrixXd& eta);
  /// Makes a guess of them, and forgets them.
  void improve(Guess& guess, bool learns_scale);
  void transfer(Archive& archive, const Guess& guess);

 private:
  double count_ = 0;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd precision_, squares_, eta_, slope_, drift_;
};

}  // namespace kernelbayes::kgs
