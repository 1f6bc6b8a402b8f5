#pragma once

#include <cmath>
#include <kernelbayes/cholesky.hpp>
#include <kernelbayes/kernel.hpp>
#include <kernelbayes/parallel.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "../radial_kernel.hpp"
#include "candidate_rows.hpp"
#include "columns.hpp"

namespace kernelbayes::srvm {

/// Kernel values by place. A copy reserves room for one more row.
class Column : public std::vector<double> {
 public:
  Column() = default;
  Column(const Column& other) : std::vector<double>() {
    reserve(other.size() + 1);
    assign(other.begin(), other.end());
  }
  Column(Column&&) noexcept = default;
  Column& operator=(const Column&) = default;
  Column& operator=(Column&&) noexcept = default;
};

/// The response of a row. A row of weight w has noise of variance noise / w:
/// its response and its row of the design count times the root of w, (S40).
/// `offset` is added to f before a class is drawn, (S41); from numbers it has
/// been subtracted.
struct Datum {
  Datum(double y, double root = 1, double offset = 0)
      : y(y), root(root), offset(offset) {}
  double y, root, offset;  // y minus the shift, times the root
};

/// `given` has one column, or three: the response, the root of the weight, the
/// offset.
std::vector<Datum> data_of(const Eigen::MatrixXd& given, double shift);

/// What particles need for columns of their own.
struct OwnKernels {
  const Eigen::MatrixXd* x = nullptr;
  RadialKernel kernel;
  const Arithmetic* arithmetic = nullptr;
};

/// A candidate's own sums over the data.
struct CandidateSums {
  double gram, rhs;
};

/// Sums over the data that all particles share: for candidate centres i, j
///   gram(i, j) = sum_s K(x_s, i) K(x_s, j),  rhs(j) = sum_s K(x_s, j) y_s,
/// where y_s and K(x_s, .) are times the root of the row's weight, as are the
/// fixed columns.
///
/// Every sum runs over s in order, entry by entry, so that its bits do not
/// depend on when a column was added: a run resumed from saved state continues
/// exactly. CandidateRows says which rows are candidates.
///
/// A bounded memory drops rows and candidates before a new row enters: sums are
/// then over the remaining rows, each with its weight.
///
/// With `all_pairs` the Gram matrix of all candidates is kept (moves may
/// propose any of them); without, only the columns in use, and the newest
/// candidate's sums. For fixed data with too many pairs, sums can be computed
/// on demand.
class CandidatePool {
 public:
  CandidatePool(std::vector<Kernel> kernels, FixedColumns fixed_columns,
                bool all_pairs, const Memory& memory = {})
      : kernels_(std::move(kernels)),
        fixed_columns_(std::move(fixed_columns)),
        candidates_(static_cast<int>(kernels_.size()), memory),
        all_pairs_(all_pairs),
        memory_(memory),
        horizon_(memory.horizon()),
        weights_(memory),
        latest_gram_(kernels_.size()),
        leaving_gram_(kernels_.size()) {}

  /// Rows are numbered from the first of all; x has those from `row` on.
  void begin_at(int row) { candidates_.begin_at(row); }

  /// Reserves room for this many rows in total.
  void reserve(int rows) {
    capacity_ = horizon_ > 0 ? std::min(rows, horizon_) : rows;
  }

  /// Takes in row `row` of x.
  void add_row(const Eigen::MatrixXd& x, int row, const Datum& datum,
               const Executor& executor);

  /// Rows taken in so far.
  int time() const { return candidates_.time(); }

  /// The power to which the likelihood of the latest row is raised: 0 after it
  /// has been added, until it is increased. Sums are given at that power.
  double power() const { return power_; }
  void set_power(double power) { power_ = power; }

  /// The sum of the weights of the rows that count.
  double rows() const { return weights_.sum(places(), 0) - (1 - power_); }

  /// Candidates, and one of them by its rank.
  int size() const { return candidates_.size(); }
  int candidate(int rank) const { return candidates_.alive()[rank]; }

  /// The number of kernels, and the index of a candidate's kernel.
  int kernels() const { return candidates_.kernels(); }
  int kernel_of(int candidate) const {
    return candidates_.kernel_of(candidate);
  }

  /// Whether the latest row is a new candidate, and its number with kernel h.
  bool latest_is_new() const { return latest_is_new_; }
  int latest(int h = 0) const { return latest_ + h; }

  /// Whether the prior odds of a new candidate are multiplied by the power of
  /// its row while that enters, (S22), and the log of the factor.
  void candidates_by_degrees(bool on) { by_degrees_ = on; }
  double log_odds(int candidate) const {
    const bool arrives = by_degrees_ && latest_is_new_ &&
                         candidate >= latest_ &&
                         candidate < latest_ + kernels();
    return power_ < 1 && arrives ? std::log(power_) : 0;
  }

  /// Numbers of candidates are below this; row_of() is -1 if none has this
  /// number, otherwise a row of x where the candidate appeared.
  int numbers() const { return candidates_.numbers(); }
  int row_of(int candidate) const { return candidates_.row_of(candidate); }

  /// Throws if a set that was read has others.
  void require_known(const std::vector<int>& set) const;

  /// Places of rows in columns, and the place of the latest row.
  int places() const { return candidates_.places(); }
  int latest_place() const { return place(time() - 1); }

  /// K(., candidate) by place; 0 if there is no row. Must be kept, or is
  /// computed on demand and valid until the next sums or trim_columns().
  const double* column(int candidate) const {
    if (cache_) {
      return cache_->column(row_of(candidate), kernel_of(candidate));
    }
    return columns_[candidate].data();
  }
  void trim_columns() const {
    if (cache_) cache_->trim();
  }
  const double* responses() const { return beside_.col(fixed()).data(); }
  /// Roots of the weights, and what is added to f at each row.
  const double* roots() const { return roots_.data(); }
  const double* offsets() const { return offsets_.data(); }

  /// K(x_t, candidate) for the latest row t.
  double latest_value(int candidate) const {
    return latest_root() * latest_column_[kernel_of(candidate) * places() +
                                          place(row_of(candidate))];
  }
  double latest_root() const { return roots_[latest_place()]; }
  double latest_offset() const { return offsets_[latest_place()]; }

  double latest_response() const { return responses()[latest_place()]; }

  /// The number of fixed columns, and the j-th of them, by place.
  int fixed() const { return fixed_columns_.size(); }
  double fixed_value(int place, int j) const { return beside_(place, j); }
  /// The fixed columns and then the responses, by place.
  auto beside() const { return beside_.topRows(places()); }
  /// Their inner products, kept for particles that have columns of their own.
  const Eigen::MatrixXd& beside_sums() const { return beside_sums_; }

  double gram(int i, int j) const { return i < j ? gram_[j][i] : gram_[i][j]; }
  double rhs(int candidate) const { return rhs_[candidate]; }

  /// Gathers a candidate's gram entries with the fixed columns and then a set
  /// into `g`; returns its own sums. Any candidate, if all pairs are kept.
  CandidateSums gather(int candidate, const std::vector<int>& set,
                       std::vector<double>& g) const;

  /// The same for the newest candidate with kernel h, which is always kept; the
  /// latest row counts with `power`.
  CandidateSums gather_latest(const std::vector<int>& set,
                              std::vector<double>& g, int h,
                              double power) const;

  double response_squares() const {
    if (power_ == 1) return y_squares_;
    return squares_without_ + power_ * latest_response() * latest_response();
  }

  // Leaving, before the next row enters --------------------------------------

  /// Drops the oldest row and a candidate if the memory is full, and lowers the
  /// weights; returns whether anything changed.
  bool drop_rows(const Eigen::MatrixXd& x, const Executor& executor);

  /// Whether all sums over the window were recomputed, every `window` rows.
  /// This clears the rounding errors left by a row that was far larger than the
  /// others. (Forgetting shrinks such errors by itself.)
  bool refreshed() const { return refreshed_; }

  /// The previous sum of squared responses, and the factor by which all weights
  /// fell.
  double squares_before() const { return squares_before_; }
  double discount() const { return memory_.forgetting; }

  /// The row that left: its place (-1: none; its offset is still there), its
  /// weight then, response, root and kernel values.
  int leaving_place() const { return leaving_place_; }
  double leaving_weight() const { return weights_(horizon_); }
  double leaving_response() const { return leaving_response_; }
  double leaving_root() const { return leaving_root_; }
  double leaving_fixed(int j) const { return leaving_fixed_[j]; }
  double leaving_value(int candidate) const {
    return leaving_values_[candidate];
  }

  /// The leaving candidate (-1: none), by kernel, and its sums over the
  /// remaining rows; available until forget_leaving().
  int leaving(int h = 0) const { return leaving_ < 0 ? -1 : leaving_ + h; }
  CandidateSums gather_leaving(const std::vector<int>& set,
                               std::vector<double>& g, int h = 0) const;
  void forget_leaving();

  /// The weight of the sums over the remaining rows.
  double rows_left() const { return weights_.sum(left_, 1); }

  /// What a bounded memory accumulates; it cannot be recomputed bit by bit.
  struct State {
    CandidateRows::State rows;
    std::vector<double> rhs, with_fixed, gram;
    double squares = 0;
  };
  State state() const;

  /// Drops the columns of candidates that no particle uses; only without
  /// `all_pairs`. `used` has size() entries.
  void release_unused(const std::vector<char>& used);

  /// Takes in the first rows of y at once, with the same result as that many
  /// add_row() and release_unused(used).
  void rebuild(const Eigen::MatrixXd& x, const std::vector<Datum>& y, int rows,
               const std::vector<char>& used, const Executor& executor);

  /// The same for a bounded memory, from its state.
  void restore(const Eigen::MatrixXd& x, const std::vector<Datum>& y, int rows,
               const State& state, const std::vector<char>& used,
               const Executor& executor);

  /// Bytes of the kernel values and their products.
  double bytes() const;

  /// Takes in all rows of y at once and keeps no sums: they are computed from
  /// up to `columns` columns of the kernel matrix. No row can be added
  /// afterwards. `x` must outlive the pool.
  void fill_on_demand(const Eigen::MatrixXd& x, const std::vector<Datum>& y,
                      std::size_t columns);

  /// Particles have kernels, and columns, of their own: the pool holds rows and
  /// candidates only. `own.x` must outlive it.
  void leave_columns_to_particles(const OwnKernels& own) { own_ = own; }
  bool has_columns() const { return own_.x == nullptr; }
  const OwnKernels& own_kernels() const { return own_; }

  /// A set's own copies of the sums, the fixed columns first. Its columns must
  /// be kept.
  void restore_sums(const std::vector<int>& set, LowerTriangle& gram,
                    std::vector<double>& rhs) const;

  /// Sums for all pairs of kept columns, and of the fixed ones, from which
  /// restore_sums() gets the same bits faster for many sets, until
  /// drop_pairs(). With `all_pairs` those of pairs exist anyway.
  void share_pairs(const Executor& executor);
  void drop_pairs() {
    shared_.reset();
    if (!all_pairs_) gram_.clear();
  }

 private:
  static constexpr int kLanes = 8;  // columns in one pass
  // With more columns than this, sets use only few of all pairs.
  static constexpr std::size_t kMostShared = 256;

  Eigen::Index line(int row) const { return candidates_.line(row); }
  int place(int row) const { return candidates_.place(row); }
  void evaluate_latest(const Eigen::MatrixXd& x, int row);
  void evaluate(const Eigen::MatrixXd& x, int row, int h, double* column) const;
  void discount_sums();
  void add_products(const std::vector<double>& values, double factor,
                    const Executor& executor);
  void remove_row(int row, const Executor& executor);
  void refresh_sums(const Executor& executor);
  void sum_pairs(const Executor& executor);
  Eigen::MatrixXd sum_beside() const;
  void add_to_fixed(int candidate, int at, double value);
  void sum_with_fixed(int candidate, const double* column);
  std::size_t gather_fixed(int candidate, std::vector<double>& g) const;
  double sum_with_set(int candidate, const std::vector<int>& set,
                      std::vector<double>& sums, std::vector<double>& g) const;
  void sum_leaving(const Eigen::MatrixXd& x, int h, const Executor& executor);
  std::vector<double> weighted(const double* column, int newest) const;
  void keep_gram(int candidate);
  void withhold(double share, int candidate, const std::vector<int>& set,
                std::vector<double>& g, CandidateSums& sums) const;
  void put_row(const Eigen::MatrixXd& x, int row, const Datum& datum);
  void add_responses(const Eigen::MatrixXd& x, const std::vector<Datum>& y,
                     int rows);
  void times_roots(Column& column) const;
  CandidateSums gather_on_demand(int candidate, const std::vector<int>& set,
                                 std::vector<double>& g) const;
  void extend_sums(double y, const Executor& executor);
  int add_candidate(const Eigen::MatrixXd& x, int row);
  void add_sums(int candidate, const Executor& executor);
  void dot_group(const double* own, const std::vector<int>& list,
                 std::size_t first, double* out) const;

  std::vector<Kernel> kernels_;
  FixedColumns fixed_columns_;
  CandidateRows candidates_;
  bool all_pairs_;
  Memory memory_;
  int horizon_;
  RowWeights weights_;
  std::size_t capacity_ = 0;
  std::vector<double> roots_, offsets_;  // by place
  Eigen::MatrixXd beside_;  // fixed columns and responses, by place, with room
  Eigen::MatrixXd beside_sums_;
  double y_squares_ = 0;
  double power_ = 1;  // of the latest row
  bool by_degrees_ = true;
  double squares_without_ = 0;  // y_squares_ without that row
  bool latest_is_new_ = false, admitted_ = true, refreshed_ = false;
  int latest_ = -1;
  int left_ = 0, leaving_place_ = -1, leaving_ = -1;
  double leaving_response_ = 0, leaving_root_ = 1, squares_before_ = 0;
  std::vector<double> leaving_values_;
  Eigen::VectorXd leaving_fixed_;
  // K(x_s, x_t), s <= t, by kernel, without roots.
  std::vector<double> latest_column_;
  // By kernel: gram(t, j) for kept columns.
  std::vector<std::vector<double>> latest_gram_, leaving_gram_;
  std::vector<Column> columns_;            // by candidate; empty: released
  std::vector<int> kept_;                  // candidates with a column
  std::vector<std::vector<double>> gram_;  // lower triangle
  std::vector<double> rhs_;
  std::vector<double> with_fixed_;  // by candidate, then fixed column
  std::optional<Eigen::MatrixXd>
      shared_;                          // sum_beside(), while pairs are shared
  std::shared_ptr<ColumnCache> cache_;  // set: all sums on demand
  OwnKernels own_;
};

}  // namespace kernelbayes::srvm
