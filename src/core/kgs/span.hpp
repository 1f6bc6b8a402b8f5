#pragma once

#include "noisy_model.hpp"

namespace kernelbayes {
namespace kgs {

/// The features of data under one kernel: Phi = K L'^-1, with L the Cholesky
/// factor of the pivots' kernel matrix, (G38).
class Span {
 public:
  Span() = default;
  /// Of a kernel that is given.
  explicit Span(Eigen::MatrixXd features) : features_(std::move(features)) {}
  /// With these logarithms of inverse bandwidths, at the data or other points.
  Span(const LearnedKernel& learned, const Eigen::VectorXd& log_inverse)
      : Span(learned, log_inverse, learned.points) {}
  Span(const LearnedKernel& learned, const Eigen::VectorXd& log_inverse,
       const Eigen::MatrixXd& points);

  /// False if the pivots' kernel matrix has no Cholesky factor.
  bool ok() const { return ok_; }
  const Eigen::MatrixXd& features() const { return features_; }
  /// The kernel's variance at each point that its features leave out.
  Eigen::VectorXd left_out(const LearnedKernel& learned) const;
  /// From derivatives with respect to the features to those with respect to the
  /// logarithms of inverse bandwidths, (G44).
  Eigen::VectorXd slope(const LearnedKernel& learned,
                        const Eigen::MatrixXd& of_features) const;

 private:
  bool ok_ = true;
  Eigen::VectorXd squares_;  // of inverse bandwidths
  Eigen::MatrixXd kernel_, pivots_, factor_;
  Eigen::MatrixXd features_;
};

}  // namespace kgs
}  // namespace kernelbayes
