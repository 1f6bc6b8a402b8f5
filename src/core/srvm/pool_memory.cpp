// What leaves a pool of bounded memory, and its state.

#include <algorithm>
#include <kernelbayes/rng.hpp>
#include <stdexcept>

#include "core/archive.hpp"
#include "pool.hpp"

namespace kernelbayes {
namespace srvm {

// Whether a row is a candidate.
bool CandidatePool::admits(int row) const {
  const int most = memory_.candidates;
  if (most == 0) return true;
  if (horizon_ == 0) {
    return row < most || Rng(memory_.seed, 0, row).uniform() * (row + 1) < most;
  }
  const int every = (horizon_ + most - 1) / most;
  return static_cast<int>(Rng(memory_.seed, 1, row / every).index(every)) ==
         row % every;
}

bool CandidatePool::let_go(const Eigen::MatrixXd& x, const Executor& executor) {
  if (!memory_.bounded()) return false;
  admitted_ = admits(time_);
  leaving_place_ = leaving_ = -1;
  refreshed_ = false;
  left_ = places();
  squares_before_ = y_squares_;
  const bool falls = memory_.forgets() && time_ > 0;
  if (falls) discount_sums();
  if (horizon_ > 0 && time_ >= horizon_) {
    remove_row(time_ - horizon_, executor);
    --left_;
    refreshed_ = weights_.equal() && time_ % horizon_ == 0;
    if (refreshed_) refresh_sums(executor);
  } else if (horizon_ == 0) {
    choose_leaving(x, time_);
  }
  if (leaving_ >= 0 && !all_pairs_) {
    for (int h = 0; h < kernels(); ++h) sum_leaving(x, h, executor);
  }
  return falls || leaving_place_ >= 0 || leaving_ >= 0;
}

void CandidatePool::discount_sums() {
  const double factor = memory_.forgetting;
  y_squares_ *= factor;
  for (const int j : kept_) {
    rhs_[j] *= factor;
    column_sum_[j] *= factor;
  }
  for (auto& row : gram_) {
    for (double& value : row) value *= factor;
  }
}

void CandidatePool::remove_row(int row, const Executor& executor) {
  const int at = place(row);
  const double w = leaving_weight(), y = y_[at];
  leaving_place_ = at;
  leaving_response_ = y;
  y_[at] = 0;
  if (weights_.equal()) {  // a difference may have no digit left
    y_squares_ = 0;
    for (const double other : y_) y_squares_ += other * other;
  } else {
    y_squares_ -= w * y * y;
  }
  leaving_values_.assign(numbers(), 0.0);
  for (const int j : kept_) {
    const double value = columns_[j][at];
    leaving_values_[j] = value;
    columns_[j][at] = 0;
    rhs_[j] -= w * value * y;
    column_sum_[j] -= w * value;
  }
  if (all_pairs_) add_products(leaving_values_, -w, executor);
  const int candidate = candidate_at_[at];
  candidate_at_[at] = -1;
  if (candidate < 0) return;
  if (--uses_[candidate] == 0) {
    leaving_ = candidate;
  } else if (row_of_[candidate] == row) {
    std::fill_n(row_of_.begin() + candidate, kernels(), last_row_[candidate]);
  }
}

void CandidatePool::refresh_sums(const Executor& executor) {
  for (const int j : kept_) {
    rhs_[j] = column_sum_[j] = 0;
    for (int s = 0; s < places(); ++s) {
      rhs_[j] += columns_[j][s] * y_[s];
      column_sum_[j] += columns_[j][s];
    }
  }
  if (all_pairs_) {
    sum_pairs(executor);
  } else {
    share_pairs(executor);
  }
}

void CandidatePool::share_pairs(const Executor& executor) {
  if (all_pairs_ || kept_.size() > kMostShared) return;
  gram_.resize(numbers());
  for (const int j : kept_) gram_[j].resize(j + 1);
  sum_pairs(executor);
}

// The Gram matrix of the kept columns, all rows counting alike.
void CandidatePool::sum_pairs(const Executor& executor) {
  std::vector<int> list = kept_;
  std::sort(list.begin(), list.end());
  executor(list.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<int> lower(list.begin(), list.begin() + i + 1);
      for (std::size_t first = 0; first <= i; first += kLanes) {
        dot_group(columns_[list[i]].data(), lower, first,
                  gram_[list[i]].data());
      }
    }
  });
}

// Makes place in the sample of all rows for a row that enters it.
void CandidatePool::choose_leaving(const Eigen::MatrixXd& x, int row) {
  if (!admitted_ || points() < memory_.candidates || find(x, row) >= 0) return;
  leaving_ = alive_[kernels() * Rng(memory_.seed, 2, row).index(points())];
}

void CandidatePool::sum_leaving(const Eigen::MatrixXd& x, int h,
                                const Executor& executor) {
  const int candidate = leaving(h);
  std::vector<double>& column = columns_[candidate];
  if (column.empty()) {
    column.resize(places());
    evaluate(x, row_of_[candidate], h, column.data());
    if (leaving_place_ >= 0) column[leaving_place_] = 0;
  }
  const std::vector<double> own = weighted(column.data(), time_);
  double rhs = 0, sum = 0, square = 0;
  for (std::size_t s = 0; s < own.size(); ++s) {
    rhs += own[s] * y_[s];
    sum += own[s];
    square += own[s] * column[s];
  }
  rhs_[candidate] = rhs;
  column_sum_[candidate] = sum;
  std::vector<double>& gram = leaving_gram_[h];
  gram.resize(numbers());
  const std::size_t groups = (kept_.size() + kLanes - 1) / kLanes;
  executor(groups, [&](std::size_t begin, std::size_t end) {
    for (std::size_t g = begin; g < end; ++g) {
      dot_group(own.data(), kept_, g * kLanes, gram.data());
    }
  });
  gram[candidate] = square;
}

CandidateSums CandidatePool::gather_leaving(const std::vector<int>& set,
                                            bool intercept,
                                            std::vector<double>& g,
                                            int h) const {
  const int candidate = leaving(h);
  if (all_pairs_) return gather(candidate, set, intercept, g);
  const std::vector<double>& gram = leaving_gram_[h];
  std::size_t at = 0;
  if (intercept) g[at++] = column_sum_[candidate];
  for (const int j : set) g[at++] = gram[j];
  return {gram[candidate], rhs_[candidate]};
}

void CandidatePool::forget_leaving() {
  drop_pairs();
  if (leaving_ < 0) return;
  const auto leaves = [this](int j) {
    return j >= leaving_ && j < leaving_ + kernels();
  };
  const auto drop = [&](std::vector<int>& list) {
    list.erase(std::remove_if(list.begin(), list.end(), leaves), list.end());
  };
  drop(alive_);
  drop(kept_);
  for (int h = 0; h < kernels(); ++h) {
    std::vector<double>().swap(columns_[leaving(h)]);
    row_of_[leaving(h)] = -1;
  }
  const auto range = by_hash_.equal_range(hash_of_[leaving_]);
  for (auto it = range.first; it != range.second; ++it) {
    if (it->second == leaving_) {
      by_hash_.erase(it);
      break;
    }
  }
  if (horizon_ == 0) {  // its rows stay
    std::replace(candidate_at_.begin(), candidate_at_.end(), leaving_, -1);
  }
  free_.push_back(leaving_);
  leaving_ = -1;
}

CandidatePool::State CandidatePool::state() const {
  State out;
  if (!memory_.bounded()) return out;
  out.row_of = row_of_;
  out.last_row = last_row_;
  out.uses = uses_;
  out.alive = alive_;
  out.free = free_;
  out.candidate_at = candidate_at_;
  out.rhs = rhs_;
  out.column_sum = column_sum_;
  out.squares = y_squares_;
  for (const auto& row : gram_) {
    out.gram.insert(out.gram.end(), row.begin(), row.end());
  }
  return out;
}

// May come from a file that was edited.
bool CandidatePool::fits(const State& state) const {
  const std::size_t n = state.row_of.size();
  const auto known = [](const std::vector<int>& values, int least, int count) {
    return std::all_of(values.begin(), values.end(), [=](int value) {
      return value >= least && value < count;
    });
  };
  const int count = static_cast<int>(n);
  if (!known(state.row_of, -1, time_) || !known(state.last_row, -1, time_) ||
      !known(state.alive, 0, count) || !known(state.free, 0, count) ||
      !known(state.candidate_at, -1, count)) {
    return false;
  }
  if (n % kernels() != 0 || state.last_row.size() != n ||
      state.uses.size() != n || state.rhs.size() != n ||
      state.column_sum.size() != n ||
      state.candidate_at.size() != static_cast<std::size_t>(places()) ||
      time_ - places() < first_) {
    return false;
  }
  // Candidates have rows that x has, others none, and what a row or a number
  // says of its candidate is so.
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

void CandidatePool::restore(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                            const State& state, const std::vector<char>& used,
                            const Executor& executor) {
  time_ = first_ + static_cast<int>(y.size());
  if (!fits(state)) {
    throw DamagedState("the pool of candidates does not belong to these data");
  }
  y_.assign(places(), 0.0);
  for (int row = time_ - places(); row < time_; ++row) {
    y_[place(row)] = y[line(row)];
  }
  row_of_ = state.row_of;
  last_row_ = state.last_row;
  uses_ = state.uses;
  alive_ = state.alive;
  free_ = state.free;
  candidate_at_ = state.candidate_at;
  columns_.assign(numbers(), {});
  hash_of_.assign(numbers(), 0);
  rhs_.assign(numbers(), 0.0);
  column_sum_ = rhs_;
  const std::size_t pairs = row_of_.size() * (row_of_.size() + 1) / 2;
  const bool has_gram = !all_pairs_ || state.gram.size() == pairs;
  for (const int j : alive_) {
    if (kernel_of(j) == 0) {
      hash_of_[j] = hash(x, row_of_[j]);
      by_hash_.emplace(hash_of_[j], j);
    }
    if (!all_pairs_ && !used[j]) continue;
    columns_[j].reserve(horizon_ > 0 ? horizon_ : capacity_);
    columns_[j].resize(places());
    evaluate(x, row_of_[j], kernel_of(j), columns_[j].data());
    // Those of the state are put in their place below.
    if (has_gram) {
      kept_.push_back(j);
    } else {
      add_sums(j, executor);
    }
  }
  y_squares_ = state.squares;
  rhs_ = state.rhs;
  column_sum_ = state.column_sum;
  auto from = state.gram.begin();
  // Numbers that no candidate has now have entries too.
  while (all_pairs_ && gram_.size() < row_of_.size()) {
    gram_.emplace_back(gram_.size() + 1, 0.0);
  }
  if (!all_pairs_ || !has_gram) return;
  for (auto& row : gram_) {
    std::copy(from, from + row.size(), row.begin());
    from += row.size();
  }
}

}  // namespace srvm
}  // namespace kernelbayes
