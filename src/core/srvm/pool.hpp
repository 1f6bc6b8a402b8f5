#pragma once

#include <Eigen/Core>
#include <kernelbayes/cholesky.hpp>
#include <kernelbayes/kernel.hpp>
#include <kernelbayes/parallel.hpp>
#include <memory>
#include <unordered_map>
#include <vector>

#include "column_cache.hpp"

namespace kernelbayes {
namespace srvm {

/// A candidate's own sums over the data.
struct CandidateSums {
  double gram, rhs;
};

/// Sums over the data that all particles share: for candidate centres i, j
///   gram(i, j) = sum_s K(x_s, i) K(x_s, j),  rhs(j) = sum_s K(x_s, j) y_s.
///
/// Candidates are the DISTINCT rows of x, numbered from 0 in order of first
/// appearance. Every sum runs over s in order, entry by entry, so that its
/// bits do not depend on when a column was added: a run resumed from saved
/// state continues exactly.
///
/// With `all_pairs` the Gram matrix of all candidates is kept (moves may
/// propose any of them); without, only the columns that are in use, and the
/// newest candidate's sums. For data at rest with too many pairs, sums can be
/// computed when they are asked for.
class CandidatePool {
 public:
  CandidatePool(Kernel kernel, bool all_pairs)
      : kernel_(std::move(kernel)), all_pairs_(all_pairs) {}

  /// Room for this many rows in all.
  void reserve(int rows) { capacity_ = rows; }

  /// Takes in row `row` of x, response y.
  void add_row(const Eigen::MatrixXd& x, int row, double y,
               const Executor& executor);

  int rows() const { return static_cast<int>(y_.size()); }
  int size() const { return static_cast<int>(row_of_.size()); }

  /// Whether the latest row is a candidate that was not there before.
  bool latest_is_new() const { return latest_is_new_; }
  int latest() const { return size() - 1; }

  /// The row of x at which a candidate first appeared.
  int row_of(int candidate) const { return row_of_[candidate]; }

  /// K(x_t, candidate) for the latest row t.
  double latest_value(int candidate) const {
    return latest_column_[row_of_[candidate]];
  }

  double gram(int i, int j) const {
    return i < j ? gram_[j][i] : gram_[i][j];
  }
  double latest_gram(int j) const { return latest_gram_[j]; }
  double rhs(int candidate) const { return rhs_[candidate]; }
  double column_sum(int candidate) const { return column_sum_[candidate]; }

  /// Gathers a candidate's gram entries with a set (the intercept's first)
  /// into `g`; gives its own sums. Any candidate, if all pairs are kept.
  CandidateSums gather(int candidate, const std::vector<int>& set,
                       bool intercept, std::vector<double>& g) const;

  /// The same for the newest candidate, which is always kept.
  CandidateSums gather_latest(const std::vector<int>& set, bool intercept,
                              std::vector<double>& g) const;

  double response_squares() const { return y_squares_; }

  /// Forgets the columns of candidates that no particle holds; only without
  /// `all_pairs`. `used` has size() entries.
  void release_unused(const std::vector<char>& used);

  /// Takes in all rows of y at once, in the state that as many add_row() and
  /// release_unused(used) leave behind.
  void rebuild(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
               const std::vector<char>& used, const Executor& executor);

  /// Takes in all rows of y at once and keeps no sums: they are computed from
  /// up to `columns` columns of the kernel matrix. No row can be added then.
  /// `x` must outlive the pool.
  void fill_on_demand(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                      std::size_t columns);

  /// A set's own copies of the sums, with the intercept first if there is
  /// one. Its columns must be kept.
  void restore_sums(const std::vector<int>& set, bool intercept,
                    LowerTriangle& gram, std::vector<double>& rhs) const;

 private:
  int find(const Eigen::MatrixXd& x, int row) const;
  void add_responses(const Eigen::MatrixXd& x, const Eigen::VectorXd& y);
  CandidateSums gather_on_demand(int candidate, const std::vector<int>& set,
                                 bool intercept, std::vector<double>& g) const;
  void extend_sums(double y, const Executor& executor);
  int add_candidate(const Eigen::MatrixXd& x, int row);
  void add_sums(int candidate, const Executor& executor);
  void dot_group(const double* own, const std::vector<int>& list,
                 std::size_t first, double* out) const;

  Kernel kernel_;
  bool all_pairs_;
  std::size_t capacity_ = 0;
  std::vector<double> y_;
  double y_squares_ = 0;
  std::vector<int> row_of_;
  std::unordered_multimap<std::size_t, int> by_hash_;
  bool latest_is_new_ = false;
  std::vector<double> latest_column_;        // K(x_s, x_t), s <= t
  std::vector<double> latest_gram_;          // gram(t, j) for kept columns
  std::vector<std::vector<double>> columns_;  // by candidate; empty: released
  std::vector<int> kept_;                    // candidates with a column
  std::vector<std::vector<double>> gram_;    // lower triangle
  std::vector<double> rhs_, column_sum_;
  std::unique_ptr<ColumnCache> cache_;       // set: all sums on demand
};

}  // namespace srvm
}  // namespace kernelbayes
