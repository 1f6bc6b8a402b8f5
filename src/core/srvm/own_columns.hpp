#pragma once

#include <kernelbayes/cholesky.hpp>
#include <vector>

#include "pool.hpp"

namespace kernelbayes::srvm {

/// The columns K(., c) of a particle whose kernel has bandwidths of its own, by
/// place and times the roots of the rows: of the centres of its set, in its
/// order, and of a candidate that it considers. A centre of spread v has
/// sqrt(v) times its column, so that all coefficients have the same prior:
/// (S66). Not for concurrent use.
class OwnColumns {
 public:
  bool any() const { return log_inverse_.size() > 0; }
  const Eigen::VectorXd& log_inverse() const { return log_inverse_; }
  /// Of the centres of the set.
  const std::vector<double>& spreads() const { return spreads_; }
  /// Inverse bandwidths with these logarithms, and a set with these spreads
  /// (none: all are 1), without columns.
  void use(Eigen::VectorXd log_inverse, std::vector<double> spreads = {});

  /// Columns of all centres of a set.
  void fill(const CandidatePool& pool, const std::vector<int>& set);
  /// Takes in the rows that are new since.
  void grow(const CandidatePool& pool, const std::vector<int>& set);

  /// The candidate considered joins the set, as its last centre; or its i-th
  /// leaves it, and is considered.
  void append();
  void erase(int i, int candidate);
  void clear() {
    k_ = 0, considered_ = -1;
    spreads_.clear();
  }
  /// The spread of the candidate that is considered next.
  void offer(double spread) { considered_ = -1, other_spread_ = spread; }

  const double* of(int i) const { return values_.col(i).data(); }
  /// Of a candidate outside the set, with the spread that was offered last.
  const Eigen::VectorXd& consider(const CandidatePool& pool,
                                  int candidate) const;

  /// As CandidatePool::gather(), for any candidate outside the set; the latest
  /// row counts with `power`.
  CandidateSums gather(const CandidatePool& pool, int candidate, double power,
                       std::vector<double>& g) const;
  /// All sums of the fixed columns and the set.
  void sum(const CandidatePool& pool, double power, LowerTriangle& gram,
           std::vector<double>& rhs) const;

 private:
  auto columns() const { return values_.block(0, 0, n_, k_); }
  void evaluate(const CandidatePool& pool, int candidate, int from,
                Eigen::Ref<Eigen::VectorXd> out) const;
  void evaluate_row(const CandidatePool& pool, const Eigen::MatrixXd& centres,
                    int row);
  bool has_room(int rows, int columns) const {
    return rows <= values_.rows() && columns <= values_.cols();
  }
  void make_room(int rows, int columns);

  Eigen::VectorXd log_inverse_, squares_;  // of the inverse bandwidths
  Eigen::MatrixXd values_;                 // the first n rows and k columns
  int n_ = 0, k_ = 0;
  std::vector<double> spreads_;
  double other_spread_ = 1;  // of the candidate considered
  mutable Eigen::VectorXd other_;
  mutable int considered_ = -1;
};

}  // namespace kernelbayes::srvm
