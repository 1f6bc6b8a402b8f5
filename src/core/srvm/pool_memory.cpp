// Rows and candidates that leave a pool with bounded memory, and its state.

#include <algorithm>
#include <stdexcept>

#include "core/archive.hpp"
#include "pool.hpp"

namespace kernelbayes::srvm {

bool CandidatePool::drop_rows(const Eigen::MatrixXd& x,
                              const Executor& executor) {
  if (!memory_.bounded()) return false;
  admitted_ = candidates_.admits(time());
  leaving_place_ = leaving_ = -1;
  refreshed_ = false;
  left_ = places();
  squares_before_ = y_squares_;
  const bool falls = memory_.forgets() && time() > 0;
  if (falls) discount_sums();
  if (horizon_ > 0 && time() >= horizon_) {
    remove_row(time() - horizon_, executor);
    --left_;
    refreshed_ = weights_.equal() && time() % horizon_ == 0;
    if (refreshed_) refresh_sums(executor);
  } else if (horizon_ == 0 && admitted_) {
    leaving_ = candidates_.make_place(x, time());
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
  }
  for (double& sum : with_fixed_) sum *= factor;
  for (auto& row : gram_) {
    for (double& value : row) value *= factor;
  }
}

void CandidatePool::remove_row(int row, const Executor& executor) {
  const int at = place(row);
  const double w = leaving_weight(), y = responses()[at];
  leaving_place_ = at;
  leaving_response_ = y;
  leaving_root_ = roots_[at];
  leaving_fixed_ = beside_.row(at).head(fixed());
  roots_[at] = 0;
  beside_.row(at).setZero();
  if (weights_.equal()) {  // a difference may lose all digits
    y_squares_ = 0;
    const double* all = responses();
    for (int s = 0; s < places(); ++s) y_squares_ += all[s] * all[s];
  } else {
    y_squares_ -= w * y * y;
  }
  leaving_values_.assign(numbers(), 0.0);
  const int m = fixed();
  for (const int j : kept_) {
    const double value = columns_[j][at];
    leaving_values_[j] = value;
    columns_[j][at] = 0;
    rhs_[j] -= w * value * y;
    for (int i = 0; i < m; ++i) {
      with_fixed_[j * m + i] -= w * value * leaving_fixed_[i];
    }
  }
  if (all_pairs_) add_products(leaving_values_, -w, executor);
  leaving_ = candidates_.leave_with(row);
}

void CandidatePool::refresh_sums(const Executor& executor) {
  const double* y = responses();
  for (const int j : kept_) {
    rhs_[j] = 0;
    for (int s = 0; s < places(); ++s) rhs_[j] += columns_[j][s] * y[s];
    sum_with_fixed(j, columns_[j].data());
  }
  share_pairs(executor);
  if (all_pairs_) sum_pairs(executor);
}

void CandidatePool::share_pairs(const Executor& executor) {
  shared_ = sum_beside();
  if (all_pairs_ || kept_.size() > kMostShared) return;
  gram_.resize(numbers());
  for (const int j : kept_) gram_[j].resize(j + 1);
  sum_pairs(executor);
}

// The Gram matrix of the kept columns, with equal weights of rows.
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

void CandidatePool::sum_leaving(const Eigen::MatrixXd& x, int h,
                                const Executor& executor) {
  const int candidate = leaving(h);
  Column& column = columns_[candidate];
  if (column.empty()) {
    column.resize(places());
    evaluate(x, row_of(candidate), h, column.data());
    times_roots(column);  // 0 for the row that left
  }
  const std::vector<double> own = weighted(column.data(), time());
  const double* y = responses();
  double rhs = 0, square = 0;
  for (std::size_t s = 0; s < own.size(); ++s) {
    rhs += own[s] * y[s];
    square += own[s] * column[s];
  }
  rhs_[candidate] = rhs;
  sum_with_fixed(candidate, own.data());
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
                                            std::vector<double>& g,
                                            int h) const {
  const int candidate = leaving(h);
  if (all_pairs_) return gather(candidate, set, g);
  const std::vector<double>& gram = leaving_gram_[h];
  std::size_t at = gather_fixed(candidate, g);
  for (const int j : set) g[at++] = gram[j];
  return {gram[candidate], rhs_[candidate]};
}

void CandidatePool::forget_leaving() {
  drop_pairs();
  if (leaving_ < 0) return;
  const auto end = std::remove_if(kept_.begin(), kept_.end(), [this](int j) {
    return j >= leaving_ && j < leaving_ + kernels();
  });
  kept_.erase(end, kept_.end());
  for (int h = 0; h < kernels(); ++h) {
    std::vector<double>().swap(columns_[leaving(h)]);
  }
  candidates_.forget(leaving_);
  leaving_ = -1;
}

CandidatePool::State CandidatePool::state() const {
  State out;
  if (!memory_.bounded()) return out;
  out.rows = candidates_.state();
  out.rhs = rhs_;
  out.with_fixed = with_fixed_;
  out.squares = y_squares_;
  for (const auto& row : gram_) {
    out.gram.insert(out.gram.end(), row.begin(), row.end());
  }
  return out;
}

void CandidatePool::restore(const Eigen::MatrixXd& x,
                            const std::vector<Datum>& y, int rows,
                            const State& state, const std::vector<char>& used,
                            const Executor& executor) {
  candidates_.set_time(candidates_.first() + rows);
  const std::size_t n = state.rows.row_of.size(), m = fixed();
  if (!candidates_.restore(x, state.rows) || state.rhs.size() != n ||
      (m > 0 && state.with_fixed.size() != n * m)) {
    throw DamagedState("the pool of candidates does not belong to these data");
  }
  roots_.assign(places(), 0.0);
  offsets_ = roots_;
  beside_.setZero(places(), fixed() + 1);
  for (int row = time() - places(); row < time(); ++row) {
    put_row(x, row, y[line(row)]);
  }
  columns_.assign(numbers(), {});
  rhs_.assign(numbers(), 0.0);
  with_fixed_.assign(numbers() * fixed(), 0.0);
  const std::size_t pairs = n * (n + 1) / 2;
  const bool has_gram = !all_pairs_ || state.gram.size() == pairs;
  for (const int j : candidates_.alive()) {
    if (!all_pairs_ && !used[j]) continue;
    columns_[j].reserve(capacity_);
    columns_[j].resize(places());
    evaluate(x, row_of(j), kernel_of(j), columns_[j].data());
    times_roots(columns_[j]);
    // Replaced by those of the state below.
    if (has_gram) {
      kept_.push_back(j);
    } else {
      add_sums(j, executor);
    }
  }
  y_squares_ = state.squares;
  rhs_ = state.rhs;
  // Without fixed columns earlier versions saved sums with an intercept.
  if (m > 0) with_fixed_ = state.with_fixed;
  auto from = state.gram.begin();
  // Unused numbers have entries too.
  while (all_pairs_ && gram_.size() < n) {
    gram_.emplace_back(gram_.size() + 1, 0.0);
  }
  if (!all_pairs_ || !has_gram) return;
  for (auto& row : gram_) {
    std::copy(from, from + row.size(), row.begin());
    from += row.size();
  }
}

}  // namespace kernelbayes::srvm
