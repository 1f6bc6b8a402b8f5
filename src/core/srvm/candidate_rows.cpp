#include "candidate_rows.hpp"

#include <functional>
#include <kernelbayes/rng.hpp>

namespace kernelbayes::srvm {

std::size_t CandidateRows::hash(const Eigen::MatrixXd& x, int row) const {
  std::size_t hash = 0;
  for (Eigen::Index j = 0; j < x.cols(); ++j) {
    const double value = x(line(row), j) + 0.0;  // -0 and 0 are the same point
    hash ^= std::hash<double>()(value) + 0x9e3779b97f4a7c15ULL + (hash << 6) +
            (hash >> 2);
  }
  return hash;
}

int CandidateRows::find(const Eigen::MatrixXd& x, int row) const {
  const auto range = by_hash_.equal_range(hash(x, row));
  for (auto it = range.first; it != range.second; ++it) {
    if (x.row(line(row_of_[it->second])) == x.row(line(row))) {
      return it->second;
    }
  }
  return -1;
}

bool CandidateRows::admits(int row) const {
  const int most = memory_.candidates;
  if (most == 0) return true;
  if (horizon_ == 0) {
    return row < most || Rng(memory_.seed, 0, row).uniform() * (row + 1) < most;
  }
  const int every = (horizon_ - 1) / most + 1;
  return static_cast<int>(Rng(memory_.seed, 1, row / every).index(every)) ==
         row % every;
}

void CandidateRows::note(int row, int known) {
  if (!memory_.bounded()) return;
  const std::size_t at = place(row);
  if (at < candidate_at_.size()) {
    candidate_at_[at] = known;
  } else {
    candidate_at_.push_back(known);
  }
  if (known < 0) return;
  ++uses_[known];
  last_row_[known] = row;
}

int CandidateRows::add(const Eigen::MatrixXd& x, int row) {
  const int candidate = free_number();
  last_row_[candidate] = row;
  uses_[candidate] = 1;
  hash_of_[candidate] = hash(x, row);
  by_hash_.emplace(hash_of_[candidate], candidate);
  for (int h = 0; h < kernels_; ++h) {
    row_of_[candidate + h] = row;
    alive_.push_back(candidate + h);
  }
  if (memory_.bounded()) candidate_at_[place(row)] = candidate;
  return candidate;
}

// The first of a block of numbers, one per kernel.
int CandidateRows::free_number() {
  if (!free_.empty()) {
    const int number = free_.back();
    free_.pop_back();
    return number;
  }
  const int first = numbers();
  for (int h = 0; h < kernels_; ++h) {
    row_of_.push_back(-1);
    last_row_.push_back(-1);
    uses_.push_back(0);
    hash_of_.push_back(0);
  }
  return first;
}

// What leaves -----------------------------------------------------------------

int CandidateRows::leave_with(int row) {
  const int candidate = candidate_at_[place(row)];
  candidate_at_[place(row)] = -1;
  if (candidate < 0) return -1;
  if (--uses_[candidate] == 0) return candidate;
  if (row_of_[candidate] == row) {
    std::fill_n(row_of_.begin() + candidate, kernels_, last_row_[candidate]);
  }
  return -1;
}

int CandidateRows::make_place(const Eigen::MatrixXd& x, int row) const {
  if (points() < memory_.candidates || find(x, row) >= 0) return -1;
  return alive_[kernels_ * Rng(memory_.seed, 2, row).index(points())];
}

void CandidateRows::forget(int candidate) {
  const auto end =
      std::remove_if(alive_.begin(), alive_.end(), [this, candidate](int j) {
        return j >= candidate && j < candidate + kernels_;
      });
  alive_.erase(end, alive_.end());
  std::fill_n(row_of_.begin() + candidate, kernels_, -1);
  const auto range = by_hash_.equal_range(hash_of_[candidate]);
  for (auto it = range.first; it != range.second; ++it) {
    if (it->second == candidate) {
      by_hash_.erase(it);
      break;
    }
  }
  if (horizon_ == 0) {  // its rows stay
    std::replace(candidate_at_.begin(), candidate_at_.end(), candidate, -1);
  }
  free_.push_back(candidate);
}

// States ----------------------------------------------------------------------

CandidateRows::State CandidateRows::state() const {
  return {row_of_, last_row_, uses_, alive_, free_, candidate_at_};
}

bool CandidateRows::fits(const State& state) const {
  const std::size_t n = state.row_of.size();
  const auto known = [](const std::vector<int>& values, int least, int count) {
    return std::all_of(values.begin(), values.end(), [=](int value) {
      return value >= least && value < count;
    });
  };
  const int count = static_cast<int>(n);
  return known(state.row_of, -1, time_) && known(state.last_row, -1, time_) &&
         known(state.alive, 0, count) && known(state.free, 0, count) &&
         known(state.candidate_at, -1, count) && n % kernels_ == 0 &&
         state.last_row.size() == n && state.uses.size() == n &&
         state.candidate_at.size() == static_cast<std::size_t>(places()) &&
         time_ - places() >= first_ && agree(state);
}

// Candidates have rows in x, other numbers have none, and the maps between
// rows, numbers and candidates agree.
bool CandidateRows::agree(const State& state) const {
  const std::size_t n = state.row_of.size();
  std::vector<int> uses(n, 0), times(n, 0);
  for (const int j : state.candidate_at) {
    if (j >= 0) ++uses[j];
  }
  for (const int j : state.alive) {
    ++times[j];
    const bool first = kernel_of(j) == 0;
    if (state.row_of[j] < first_ || (first && state.last_row[j] < first_)) {
      return false;
    }
  }
  for (const int j : state.free) times[j] += 1 + 2 * (kernel_of(j) != 0);
  for (std::size_t j = 0; j < n; ++j) {
    const bool first = kernel_of(static_cast<int>(j)) == 0;
    const bool lives = state.row_of[j] >= 0;
    if (times[j] != (lives || first) || (!first && uses[j] > 0) ||
        (first && uses[j] > 0 && !lives) ||
        (first && lives && horizon_ > 0 && uses[j] != state.uses[j])) {
      return false;
    }
  }
  return true;
}

bool CandidateRows::restore(const Eigen::MatrixXd& x, const State& state) {
  if (!fits(state)) return false;
  row_of_ = state.row_of;
  last_row_ = state.last_row;
  uses_ = state.uses;
  alive_ = state.alive;
  free_ = state.free;
  candidate_at_ = state.candidate_at;
  hash_of_.assign(numbers(), 0);
  for (const int j : alive_) {
    if (kernel_of(j) != 0) continue;
    hash_of_[j] = hash(x, row_of_[j]);
    by_hash_.emplace(hash_of_[j], j);
  }
  return true;
}

}  // namespace kernelbayes::srvm
