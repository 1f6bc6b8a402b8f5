#pragma once

#include <kernelbayes/rng.hpp>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/linalg.hpp"

namespace kernelbayes::bark {

/// Normal coefficients that are integrated out group by group: rows of group g
/// have covariance V = I + U_g R U_g' (in units of the noise). The map T with T
/// V T' = I makes the rest a model with independent noise, in O(n q), (B101).
class Whitening {
 public:
  /// `group`: of each row, from 0; null if all rows are one group. `factor`: L
  /// of R = LL'.
  Whitening(const std::vector<int>* group, int count, Eigen::MatrixXd u,
            const Eigen::MatrixXd& factor);

  /// Multiplies columns by T, or a vector by its inverse.
  void apply(Eigen::Ref<Eigen::MatrixXd> columns) const;
  void undo(Eigen::Ref<Eigen::VectorXd> column) const;
  /// log |V|.
  double log_determinant() const { return log_determinant_; }
  /// The coefficients, q x groups, given residuals U c + N(0, I): (B103).
  Eigen::MatrixXd draw(const Eigen::VectorXd& residuals, Rng& rng) const;

 private:
  int of(Eigen::Index i) const { return group_ ? (*group_)[i] : 0; }
  int count() const { return static_cast<int>(d_.cols()); }
  /// U_g'v for each group, q x groups.
  void gather(Eigen::Ref<const Eigen::VectorXd> v, Eigen::MatrixXd& out) const;
  void set_maps(int g);
  /// Adds U_g c_g.
  void scatter(const Eigen::MatrixXd& c, Eigen::Ref<Eigen::VectorXd> v) const;
  /// Adds U_g M_g U_g' v.
  void add(const Eigen::MatrixXd& middle,
           Eigen::Ref<Eigen::MatrixXd> columns) const;

  const std::vector<int>* group_;
  Eigen::Index q_;
  Eigen::MatrixXd u_;
  Eigen::MatrixXd factor_;
  /// For each group E, q x q, and D with L'U'UL = EDE'.
  Eigen::MatrixXd e_, d_;
  /// T = I + U A U', T^-1 = I + U B U'; A and B for each group.
  Eigen::MatrixXd apply_, undo_;
  double log_determinant_ = 0;
};

}  // namespace kernelbayes::bark
