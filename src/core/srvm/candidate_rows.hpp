#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "../linalg.hpp"
#include "memory.hpp"

namespace kernelbayes::srvm {

/// Which rows are candidate centres, and their numbers: the DISTINCT rows of x,
/// numbered from 0 in order of first appearance; with H kernels, each row with
/// each kernel, with numbers i, ..., i + H - 1. A bounded memory drops
/// candidates, whose numbers are reused.
class CandidateRows {
 public:
  CandidateRows(int kernels, const Memory& memory)
      : kernels_(kernels), memory_(memory), horizon_(memory.horizon()) {}

  /// Rows are numbered from the first of all; x has those from `row` on.
  void begin_at(int row) { first_ = row; }
  int first() const { return first_; }
  Eigen::Index line(int row) const { return row - first_; }

  /// Rows taken in so far; their places: if rows leave, those of the last rows.
  int time() const { return time_; }
  void set_time(int time) { time_ = time; }
  int horizon() const { return horizon_; }
  int places() const {
    return horizon_ > 0 ? std::min(time_, horizon_) : time_;
  }
  int place(int row) const { return horizon_ > 0 ? row % horizon_ : row; }

  /// Candidates, and one of them by its rank.
  const std::vector<int>& alive() const { return alive_; }
  int size() const { return static_cast<int>(alive_.size()); }
  /// Distinct rows among them.
  int points() const { return size() / kernels_; }
  int kernels() const { return kernels_; }
  int kernel_of(int candidate) const {
    return kernels_ == 1 ? 0 : candidate % kernels_;
  }
  /// Numbers are below this; row_of() is -1 if no candidate has this number,
  /// otherwise a row where it appeared.
  int numbers() const { return static_cast<int>(row_of_.size()); }
  int row_of(int candidate) const { return row_of_[candidate]; }

  /// Whether the memory makes a row a candidate.
  bool admits(int row) const;
  /// The candidate that a row is, or -1.
  int find(const Eigen::MatrixXd& x, int row) const;
  /// Sets a row to a known candidate, or to none (-1).
  void note(int row, int known);
  /// Makes a row a candidate; returns its number with the first kernel.
  int add(const Eigen::MatrixXd& x, int row);

  /// The candidate that must go when `row` leaves the window, or -1.
  int leave_with(int row);
  /// The candidate that `row` replaces in a sample of all rows, or -1.
  int make_place(const Eigen::MatrixXd& x, int row) const;
  void forget(int candidate);

  struct State {
    std::vector<int> row_of, last_row, uses, alive, free, candidate_at;
  };
  State state() const;
  /// `time` must have been set; false if no memory can have produced this
  /// state.
  bool restore(const Eigen::MatrixXd& x, const State& state);

 private:
  std::size_t hash(const Eigen::MatrixXd& x, int row) const;
  int free_number();
  bool fits(const State& state) const;
  bool agree(const State& state) const;

  int kernels_;
  Memory memory_;
  int horizon_;
  int first_ = 0;
  int time_ = 0;
  std::vector<int> alive_;
  std::vector<int> row_of_;  // by candidate, as all below
  // For the first kernel only: where it last appeared, in how many rows it is a
  // candidate, candidates by place (-1 for rows that are none), and free
  // numbers.
  std::vector<int> last_row_, uses_, candidate_at_, free_;
  std::unordered_multimap<std::size_t, int> by_hash_;
  std::vector<std::size_t> hash_of_;
};

}  // namespace kernelbayes::srvm
