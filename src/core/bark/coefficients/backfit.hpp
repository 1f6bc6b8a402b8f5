#pragma once

#include "core/bark/scales/scales.hpp"
#include "core/bark/state/state.hpp"

namespace kernelbayes::bark {

/// A state with its coefficients, in which a move of one kernel integrates out
/// the coefficient of that kernel only, given the others (Bayesian backfitting;
/// Hastie and Tibshirani, 2000): O(n), not O(n m). For numeric responses and
/// kernels with their own scales, one copy each. Rows and the response are
/// those of the state, which must not change meanwhile. See
/// derivations/bark.md, section 3.8.
class Backfit {
 public:
  /// Draws the coefficients; ok() is false if they cannot be computed.
  /// Otherwise it has the memory of the state's columns until give().
  Backfit(State& state, Rng& rng);
  bool ok() const { return ok_; }
  /// Gives the state the kernels, which has the noise already, and row weights
  /// if they are not empty.
  void give(State& state, Eigen::VectorXd row_weights = {});

  const Data& data() const { return *data_; }
  const Prior& prior() const { return *prior_; }
  const Pool& pool() const { return *pool_; }
  int size() const { return static_cast<int>(slots_.size()); }
  int copies() const { return size(); }
  const Slot& slot(int j) const { return slots_[j]; }
  double beta(int j) const { return beta_[j]; }
  /// Those of all kernels, which have no meaning here.
  const std::vector<double>& log_lambda() const { return none_; }
  const std::vector<char>& included() const { return nothing_; }
  /// The exponents of a kernel at rows first, first + stride, ...
  Eigen::VectorXd exponents(const Place& place, Eigen::Index first,
                            Eigen::Index stride) const {
    return columns_->strided_exponents(place, first, stride);
  }
  Place place(int j) const { return {slots_[j].location, slots_[j].shape}; }
  Eigen::Ref<const Eigen::MatrixXd> columns() const {
    return values_.leftCols(size());
  }
  /// sqrt(w) (y - f).
  const Eigen::VectorXd& residuals() const { return residuals_; }

  /// Products of a column with itself, with the residuals and, if it may
  /// replace another, with that; and of that with the residuals.
  using Products = Eigen::Array4d;
  enum { kOwn, kResidual, kCross, kLeaving };
  /// A column that may be added or, if `slot` is not negative, replace that of
  /// a slot. The threads of the chain share the rows.
  struct Candidate {
    Place place;
    int slot;
    Eigen::VectorXd values;
    Products products;
  };
  Candidate make_column(const Place& place, int slot = -1) const;

  /// About the coefficient of slot j, or of a kernel that may be added or
  /// replace another, given the other coefficients.
  Information information(int j) const;
  Information information(const Candidate& column) const;
  /// About that of the kernel to replace, without a further pass over the rows.
  Information replaced(const Candidate& column) const;

  /// log of the weight of a kernel at a place, instead of slot j; or of slot j:
  /// varphi integrated out, from some of the rows only, (B115).
  double glimpse(const Place& place, int j) const;
  double glimpse(int j) const;
  /// False if there are too few rows to choose from.
  bool glimpses() const { return !stretches_.empty(); }
  /// The first row of each stretch of rows for glimpses.
  const std::vector<Eigen::Index>& stretches() const { return stretches_; }

  /// These draw the coefficient; the last slot moves to the place of a removed
  /// one.
  void add(Candidate column, double varphi, Rng& rng);
  void remove(int j);
  void replace(Candidate column, double varphi, Rng& rng);

 private:
  using Columns = Eigen::Ref<const Eigen::MatrixXd>;
  void shift(int j, double step);
  void choose_stretches(Rng& rng);
  double glimpse_weight(double own, double score) const;
  double draw(const Information& information, double varphi, Rng& rng) const;

  const Data* data_;
  const Prior* prior_;
  const Pool* pool_;
  const KernelColumns* columns_;
  const Response* response_;
  double phi_;
  std::vector<Slot> slots_;
  std::vector<double> beta_, own_;
  Eigen::MatrixXd values_;               // all columns in memory
  Eigen::VectorXd residuals_;            // sqrt(w) (y - f)
  std::vector<Eigen::Index> stretches_;  // first rows of those for glimpses
  double glimpse_power_ = 1;
  std::vector<double> none_;
  std::vector<char> nothing_;
  bool ok_ = true;
};

// Moves of a Backfit, with the ratios of a State, (B25) and (B27), for the
// likelihood given the other coefficients. True if it changed.
bool birth_death_move(Backfit& state, Rng& rng);
bool relocate_move(Backfit& state, Rng& rng);
bool local_move(Backfit& state, Rng& rng);
bool move_kernel(Backfit& state, int j, const Place& place, double log_proposal,
                 double power, Rng& rng);
/// Common scales do not exist here.
bool try_scales(Backfit& state, const ScaleChange& change, double log_ratio,
                double power, Rng& rng);

}  // namespace kernelbayes::bark
