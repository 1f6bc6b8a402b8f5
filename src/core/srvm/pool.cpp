#include "pool.hpp"

#include <stdexcept>

#include "core/archive.hpp"

namespace kernelbayes::srvm {

namespace {

template <typename T>
void put(std::vector<T>& values, int at, T value) {
  if (static_cast<std::size_t>(at) < values.size()) {
    values[at] = value;
  } else {
    values.push_back(value);
  }
}

Eigen::Map<Eigen::MatrixXd> as_column(std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size()), 1};
}

// Inner products of one column with others, each summed in order.
template <int kLanes>
void dot_lanes(int n, const double* x, const double* const (&columns)[kLanes],
               double* out) {
  double sum[kLanes] = {0};
  for (int s = 0; s < n; ++s) {
    for (int l = 0; l < kLanes; ++l) sum[l] += x[s] * columns[l][s];
  }
  for (int l = 0; l < kLanes; ++l) out[l] = sum[l];
}

}  // namespace

std::vector<Datum> data_of(const Eigen::MatrixXd& given, double shift) {
  std::vector<Datum> out;
  const bool more = given.cols() > 2;
  for (Eigen::Index s = 0; s < given.rows(); ++s) {
    const double root = more ? given(s, 1) : 1;
    out.emplace_back(root * (given(s, 0) - shift), root,
                     more ? given(s, 2) : 0);
  }
  return out;
}

void CandidatePool::put_row(const Eigen::MatrixXd& x, int row,
                            const Datum& datum) {
  const int at = place(row), m = fixed();
  if (at >= beside_.rows()) {
    const std::size_t wanted = 2 * static_cast<std::size_t>(at) + 64;
    const bool enough = capacity_ > static_cast<std::size_t>(at);
    beside_.conservativeResize(enough ? std::min(capacity_, wanted) : wanted,
                               m + 1);
  }
  beside_.row(at).head(m) =
      datum.root * fixed_columns_.at(x.row(line(row))).row(0);
  beside_(at, m) = datum.y;
  put(roots_, at, datum.root);
  put(offsets_, at, datum.offset);
}

void CandidatePool::add_row(const Eigen::MatrixXd& x, int row,
                            const Datum& datum, const Executor& executor) {
  candidates_.set_time(row + 1);
  power_ = 0;
  put_row(x, row, datum);
  squares_without_ = y_squares_;
  y_squares_ += datum.y * datum.y;
  if (has_columns()) {
    evaluate_latest(x, row);
    extend_sums(datum.y, executor);
  } else {
    beside_sums_ = own_.arithmetic->squares(beside());
  }
  const int known = admitted_ ? candidates_.find(x, row) : -1;
  candidates_.note(row, known);
  latest_is_new_ = admitted_ && known < 0;
  if (!latest_is_new_) return;
  latest_ = add_candidate(x, row);
  if (!has_columns()) return;
  auto from = latest_column_.begin();
  for (int h = 0; h < kernels(); ++h, from += places()) {
    columns_[latest(h)].reserve(capacity_);
    columns_[latest(h)].assign(from, from + places());
    times_roots(columns_[latest(h)]);
    add_sums(latest(h), executor);
  }
  // Each has its sums with earlier ones, and with the others:
  for (int h = 0; h < kernels(); ++h) {
    latest_gram_[h].resize(numbers());
    for (int g = h + 1; g < kernels(); ++g) {
      latest_gram_[h][latest(g)] = latest_gram_[g][latest(h)];
    }
  }
}

// K(x_s, x_t) for the rows s that count; if row t is not a candidate, only for
// rows at which it will be needed.
void CandidatePool::evaluate_latest(const Eigen::MatrixXd& x, int row) {
  latest_column_.resize(kernels() * places());
  for (int h = 0; h < kernels(); ++h) {
    double* column = latest_column_.data() + h * places();
    if (admitted_) {
      evaluate(x, row, h, column);
      continue;
    }
    std::vector<int> own;
    for (const int j : kept_) {
      if (kernel_of(j) == h) own.push_back(j);
    }
    Eigen::MatrixXd points(own.size(), x.cols());
    Eigen::MatrixXd values(own.size(), 1);
    for (std::size_t i = 0; i < own.size(); ++i) {
      points.row(i) = x.row(line(row_of(own[i])));
    }
    kernels_[h].block(points, x.row(line(row)), values);
    for (std::size_t i = 0; i < own.size(); ++i) {
      column[place(row_of(own[i]))] = values(i, 0);
    }
  }
}

// K(x_s, x_row) by place for all rows s that count.
void CandidatePool::evaluate(const Eigen::MatrixXd& x, int row, int h,
                             double* column) const {
  const int n = places(), first = time() - n, at = place(first);
  const int straight = horizon_ > 0 ? std::min(n, horizon_ - at) : n;
  const auto block = [&](int from, int rows, double* to) {
    kernels_[h].block(x.middleRows(line(from), rows), x.row(line(row)),
                      Eigen::Map<Eigen::MatrixXd>(to, rows, 1));
  };
  block(first, straight, column + at);
  if (straight < n) block(first + straight, n - straight, column);
}

void CandidatePool::times_roots(Column& column) const {
  for (int s = 0; s < places(); ++s) column[s] *= roots_[s];
}

// The new row's term in every sum that is kept.
void CandidatePool::extend_sums(double y, const Executor& executor) {
  const int at = place(time() - 1);
  for (const int j : kept_) {
    const double value = latest_value(j);
    put(columns_[j], at, value);
    rhs_[j] += value * y;
    add_to_fixed(j, at, value);
  }
  if (!all_pairs_) return;
  std::vector<double> values(numbers(), 0.0);
  for (const int j : candidates_.alive()) values[j] = latest_value(j);
  add_products(values, 1, executor);
}

// A value of a candidate's column enters its sums with the fixed columns.
void CandidatePool::add_to_fixed(int candidate, int at, double value) {
  const int m = fixed();
  double* sums = with_fixed_.data() + candidate * m;
  for (int j = 0; j < m; ++j) sums[j] += value * beside_(at, j);
}

void CandidatePool::sum_with_fixed(int candidate, const double* column) {
  const int m = fixed();
  for (int j = 0; j < m; ++j) {
    double sum = 0;
    for (int s = 0; s < places(); ++s) sum += column[s] * beside_(s, j);
    with_fixed_[candidate * m + j] = sum;
  }
}

std::size_t CandidatePool::gather_fixed(int candidate,
                                        std::vector<double>& g) const {
  const int m = fixed();
  std::copy_n(with_fixed_.data() + candidate * m, m, g.data());
  return m;
}

// gram(i, j) += factor values[i] values[j]
void CandidatePool::add_products(const std::vector<double>& values,
                                 double factor, const Executor& executor) {
  const auto extend_row = [&](std::size_t i) {
    Eigen::Map<Eigen::VectorXd> row(gram_[i].data(), i + 1);
    row += factor * values[i] *
           Eigen::Map<const Eigen::VectorXd>(values.data(), i + 1);
  };
  // Pairs long rows with short ones, so that equal ranges are equal work.
  const std::size_t n = values.size();
  executor((n + 1) / 2, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      extend_row(i);
      if (n - 1 - i != i) extend_row(n - 1 - i);
    }
  });
}

int CandidatePool::add_candidate(const Eigen::MatrixXd& x, int row) {
  const int candidate = candidates_.add(x, row);
  columns_.resize(numbers());
  rhs_.resize(numbers());
  with_fixed_.resize(numbers() * fixed());
  return candidate;
}

// A column times the weights of the rows when `newest` is the latest.
std::vector<double> CandidatePool::weighted(const double* column,
                                            int newest) const {
  const int n = places();
  std::vector<double> out(column, column + n);
  for (int row = time() - n; row < time(); ++row) {
    out[place(row)] *= weights_(newest - row);
  }
  return out;
}

// All sums over the rows so far, for a candidate with a complete column.
void CandidatePool::add_sums(int candidate, const Executor& executor) {
  const double* own = columns_[candidate].data();
  std::vector<double> products;
  if (!weights_.equal()) {
    products = weighted(own, time() - 1);
    own = products.data();
  }
  const double* y = responses();
  double rhs = 0;
  for (int s = 0; s < places(); ++s) rhs += own[s] * y[s];
  rhs_[candidate] = rhs;
  sum_with_fixed(candidate, own);
  kept_.push_back(candidate);
  std::vector<double>& gram = latest_gram_[kernel_of(candidate)];
  gram.resize(numbers());
  const std::size_t groups = (kept_.size() + kLanes - 1) / kLanes;
  executor(groups, [&](std::size_t begin, std::size_t end) {
    for (std::size_t g = begin; g < end; ++g) {
      dot_group(own, kept_, g * kLanes, gram.data());
    }
  });
  if (all_pairs_) keep_gram(candidate);
}

// Writes the latest sums into the Gram matrix of all pairs.
void CandidatePool::keep_gram(int candidate) {
  while (gram_.size() <= static_cast<std::size_t>(candidate)) {
    gram_.emplace_back(gram_.size() + 1, 0.0);
  }
  const std::vector<double>& latest = latest_gram_[kernel_of(candidate)];
  for (const int j : kept_) {
    gram_[std::max(candidate, j)][std::min(candidate, j)] = latest[j];
  }
}

// Inner products of `own` with up to kLanes columns of `list` from `first`,
// each to its candidate's place in `out`.
void CandidatePool::dot_group(const double* own, const std::vector<int>& list,
                              std::size_t first, double* out) const {
  const double* lanes[kLanes];
  double sums[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    lanes[l] = columns_[list[std::min(first + l, list.size() - 1)]].data();
  }
  dot_lanes(places(), own, lanes, sums);
  for (int l = 0; l < kLanes && first + l < list.size(); ++l) {
    out[list[first + l]] = sums[l];
  }
}

void CandidatePool::add_responses(const Eigen::MatrixXd& x,
                                  const std::vector<Datum>& y, int rows) {
  for (int s = 0; s < rows; ++s) {
    candidates_.set_time(s + 1);
    put_row(x, s, y[s]);
    y_squares_ += y[s].y * y[s].y;
    latest_is_new_ = candidates_.find(x, s) < 0;
    if (latest_is_new_) latest_ = add_candidate(x, s);
  }
}

void CandidatePool::rebuild(const Eigen::MatrixXd& x,
                            const std::vector<Datum>& y, int t,
                            const std::vector<char>& used,
                            const Executor& executor) {
  add_responses(x, y, t);
  if (!has_columns()) beside_sums_ = own_.arithmetic->squares(beside());
  for (int j = 0; j < size() && has_columns(); ++j) {
    if (!all_pairs_ && !used[j]) continue;
    columns_[j].reserve(capacity_);
    columns_[j].resize(t);
    kernels_[kernel_of(j)].block(x.topRows(t), x.row(row_of(j)),
                                 as_column(columns_[j]));
    times_roots(columns_[j]);
    add_sums(j, executor);
  }
}

void CandidatePool::fill_on_demand(const Eigen::MatrixXd& x,
                                   const std::vector<Datum>& y,
                                   std::size_t columns) {
  add_responses(x, y, static_cast<int>(y.size()));
  cache_ = std::make_shared<ColumnCache>(kernels_, x, roots_, columns);
}

void CandidatePool::require_known(const std::vector<int>& set) const {
  for (const int j : set) {
    if (j < 0 || j >= numbers() || row_of(j) < 0) {
      throw DamagedState("a set has a centre that is not a candidate");
    }
  }
}

// Of the fixed columns with each other and with the responses.
Eigen::MatrixXd CandidatePool::sum_beside() const {
  const int p = fixed() + 1;
  Eigen::MatrixXd out(p, p);
  for (int j = 0; j < p; ++j) {
    for (int i = j; i < p; ++i) {
      double sum = 0;
      for (int s = 0; s < places(); ++s) sum += beside_(s, i) * beside_(s, j);
      out(i, j) = sum;
    }
  }
  return out;
}

void CandidatePool::restore_sums(const std::vector<int>& set,
                                 LowerTriangle& gram,
                                 std::vector<double>& rhs) const {
  const int k = static_cast<int>(set.size()), m = fixed();
  gram.resize(k + m);
  rhs.resize(k + m);
  const Eigen::MatrixXd own = shared_ ? Eigen::MatrixXd() : sum_beside();
  const Eigen::MatrixXd& always = shared_ ? *shared_ : own;
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) gram(i, j) = always(i, j);
    rhs[j] = always(m, j);
  }
  const bool pairs = cache_ || !gram_.empty();
  std::vector<double> g(k + m), sums(pairs ? 0 : numbers());
  for (int j = 0; j < k; ++j) {
    rhs[m + j] =
        pairs ? gather(set[j], set, g).rhs : sum_with_set(set[j], set, sums, g);
    for (int i = 0; i < m; ++i) gram(m + j, i) = g[i];
    for (int i = j; i < k; ++i) gram(m + i, m + j) = g[m + i];
  }
}

// A kept column's gram entries as gather() has them, from the columns; `sums`
// is work space. Returns its product with the responses.
double CandidatePool::sum_with_set(int candidate, const std::vector<int>& set,
                                   std::vector<double>& sums,
                                   std::vector<double>& g) const {
  for (std::size_t first = 0; first < set.size(); first += kLanes) {
    dot_group(columns_[candidate].data(), set, first, sums.data());
  }
  std::size_t at = gather_fixed(candidate, g);
  for (const int j : set) g[at++] = sums[j];
  return rhs_[candidate];
}

CandidateSums CandidatePool::gather(int candidate, const std::vector<int>& set,
                                    std::vector<double>& g) const {
  if (cache_) return gather_on_demand(candidate, set, g);
  std::size_t at = gather_fixed(candidate, g);
  for (const int j : set) g[at++] = gram(candidate, j);
  CandidateSums sums{gram(candidate, candidate), rhs_[candidate]};
  if (power_ < 1) withhold(1 - power_, candidate, set, g, sums);
  return sums;
}

// Subtracts a share of the latest row from a candidate's sums.
void CandidatePool::withhold(double share, int candidate,
                             const std::vector<int>& set,
                             std::vector<double>& g,
                             CandidateSums& sums) const {
  const double own = latest_value(candidate), part = share * own;
  const int m = fixed();
  for (int j = 0; j < m; ++j) g[j] -= part * fixed_value(latest_place(), j);
  std::size_t at = m;
  for (const int j : set) g[at++] -= part * latest_value(j);
  sums.gram -= part * own;
  sums.rhs -= part * latest_response();
}

CandidateSums CandidatePool::gather_on_demand(int candidate,
                                              const std::vector<int>& set,
                                              std::vector<double>& g) const {
  cache_->trim();
  const double* own = cache_->column(row_of(candidate), kernel_of(candidate));
  // The fixed columns, the set's, then the candidate's own and the responses.
  const std::size_t m = fixed(), k = m + set.size(), n = k + 2;
  const auto column = [&](std::size_t l) -> const double* {
    if (l < m) return beside_.col(l).data();
    if (l >= k) return l == k ? own : responses();
    return cache_->column(row_of(set[l - m]), kernel_of(set[l - m]));
  };
  double sums[kLanes], last[2] = {0, 0};
  const double* lanes[kLanes];
  for (std::size_t first = 0; first < n; first += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      lanes[l] = column(std::min(first + l, n - 1));
    }
    dot_lanes(places(), own, lanes, sums);
    for (std::size_t l = first; l < std::min(first + kLanes, n); ++l) {
      (l < k ? g[l] : last[l - k]) = sums[l - first];
    }
  }
  return {last[0], last[1]};
}

CandidateSums CandidatePool::gather_latest(const std::vector<int>& set,
                                           std::vector<double>& g, int h,
                                           double power) const {
  const int candidate = latest(h);
  const std::vector<double>& gram = latest_gram_[h];
  std::size_t at = gather_fixed(candidate, g);
  for (const int j : set) g[at++] = gram[j];
  CandidateSums sums{gram[candidate], rhs_[candidate]};
  if (power < 1) withhold(1 - power, candidate, set, g, sums);
  return sums;
}

double CandidatePool::bytes() const {
  std::size_t numbers = beside_.size() + with_fixed_.capacity();
  for (const auto& column : columns_) numbers += column.capacity();
  for (const auto& row : gram_) numbers += row.capacity();
  return static_cast<double>(numbers * sizeof(double));
}

void CandidatePool::release_unused(const std::vector<char>& used) {
  std::size_t left = 0;
  for (const int j : kept_) {
    if (used[j]) {
      kept_[left++] = j;
    } else {
      std::vector<double>().swap(columns_[j]);
    }
  }
  kept_.resize(left);
}

}  // namespace kernelbayes::srvm
