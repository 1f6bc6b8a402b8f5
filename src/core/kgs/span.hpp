#pragma once

#include "noisy_model.hpp"
#include "row_blocks.hpp"

namespace kernelbayes::kgs {

/// One bandwidth for all predictors changes distances by a factor: they are
/// found once.
void find_distances(LearnedKernel& learned);

/// The features of data under one kernel: Phi = K L'^-1, with L the Cholesky
/// factor of the pivots' kernel matrix, (G38). Samplers work with u = L'^-1 w,
/// so that Phi w = K u and w'w = u'LL'u: Phi is not formed. Of a kernel that is
/// given K = Phi and L = I.
class Span {
 public:
  Span() = default;
  /// Of a kernel that is given.
  explicit Span(const Eigen::MatrixXd& features) : kernel_(features) {}
  /// With these logarithms of inverse bandwidths.
  Span(const LearnedKernel& learned, const Eigen::VectorXd& log_inverse);

  /// False if the pivots' kernel matrix has no Cholesky factor.
  bool ok() const { return ok_; }
  Eigen::MatrixXd features() const;
  /// K, LL' and L.
  const RowBlocks& kernel() const { return kernel_; }
  Eigen::MatrixXd gram_times(const Eigen::MatrixXd& u) const;
  void add_gram(Eigen::MatrixXd& to) const;
  double log_determinant() const;  // of L
  Eigen::MatrixXd factor_times(const Eigen::MatrixXd& v) const;
  Eigen::MatrixXd to_u(const Eigen::MatrixXd& w) const;
  Eigen::MatrixXd to_w(const Eigen::MatrixXd& u) const;
  /// Phi w.
  Eigen::MatrixXd times(const Eigen::MatrixXd& w) const {
    return kernel_.times(to_u(w));
  }
  /// The kernel's variance at each point that its features leave out.
  Eigen::VectorXd left_out(const LearnedKernel& learned) const;
  /// From derivatives with respect to the features to those with respect to the
  /// logarithms of inverse bandwidths, (G44).
  Eigen::VectorXd slope(const LearnedKernel& learned,
                        const Eigen::MatrixXd& of_features) const;

 private:
  bool learned() const { return factor_.size() > 0; }

  bool ok_ = true;
  Eigen::VectorXd squares_;        // of inverse bandwidths
  RowBlocks kernel_;               // or the features, if the kernel is given
  Eigen::MatrixXd gram_, factor_;  // LL' and L
};

}  // namespace kernelbayes::kgs
