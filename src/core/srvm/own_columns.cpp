#include "own_columns.hpp"

#include <cmath>

namespace kernelbayes::srvm {

namespace {

using Vector = Eigen::Map<const Eigen::VectorXd>;

Vector roots(const CandidatePool& pool) {
  return {pool.roots(), pool.places()};
}

void times_root(Eigen::Ref<Eigen::VectorXd> column, double spread) {
  if (spread != 1) column *= std::sqrt(spread);
}

}  // namespace

void OwnColumns::use(Eigen::VectorXd log_inverse, std::vector<double> spreads) {
  log_inverse_ = std::move(log_inverse);
  squares_ = (2 * log_inverse_.array()).exp();
  clear();
  spreads_ = std::move(spreads);
}

// Rows of x are places: no memory drops any.
void OwnColumns::evaluate(const CandidatePool& pool, int candidate, int from,
                          Eigen::Ref<Eigen::VectorXd> out) const {
  const OwnKernels& own = pool.own_kernels();
  const Eigen::VectorXd centre = own.x->row(pool.row_of(candidate));
  own.kernel.evaluate(*own.arithmetic, squares_,
                      own.x->middleRows(from, out.size()), centre,
                      roots(pool).segment(from, out.size()), out);
}

void OwnColumns::make_room(int rows, int columns) {
  constexpr int kLeast = 8;
  if (has_room(rows, columns)) return;
  const bool taller = rows > values_.rows(), wider = columns > values_.cols();
  const Eigen::Index n = taller ? rows + rows / 4 + kLeast : values_.rows();
  const Eigen::Index k =
      wider ? columns + columns / 4 + kLeast : values_.cols();
  values_.conservativeResize(n, k);
}

void OwnColumns::fill(const CandidatePool& pool, const std::vector<int>& set) {
  n_ = pool.places();
  k_ = static_cast<int>(set.size());
  spreads_.resize(k_, 1);
  if (!has_room(n_, k_)) values_.resize(0, 0);  // not to be copied
  make_room(n_, k_);
  for (int i = 0; i < k_; ++i) {
    evaluate(pool, set[i], 0, values_.col(i).head(n_));
    times_root(values_.col(i).head(n_), spreads_[i]);
  }
  considered_ = -1;
}

void OwnColumns::grow(const CandidatePool& pool, const std::vector<int>& set) {
  considered_ = -1;
  const int from = n_;
  n_ = pool.places();
  if (from == n_) return;
  make_room(n_, k_);
  const Eigen::MatrixXd& x = *pool.own_kernels().x;
  Eigen::MatrixXd centres(k_, x.cols());
  for (int i = 0; i < k_; ++i) centres.row(i) = x.row(pool.row_of(set[i]));
  for (int row = from; row < n_; ++row) evaluate_row(pool, centres, row);
}

void OwnColumns::evaluate_row(const CandidatePool& pool,
                              const Eigen::MatrixXd& centres, int row) {
  const OwnKernels& own = pool.own_kernels();
  const Eigen::VectorXd at = own.x->row(row);
  const auto factors = Eigen::VectorXd::Constant(k_, pool.roots()[row]).eval();
  Eigen::VectorXd out(k_);
  own.kernel.evaluate(*own.arithmetic, squares_, centres, at, factors, out);
  for (int i = 0; i < k_; ++i) times_root(out.segment(i, 1), spreads_[i]);
  values_.row(row).head(k_) = out;
}

void OwnColumns::append() {
  make_room(n_, k_ + 1);
  values_.col(k_++).head(n_) = other_;
  spreads_.push_back(other_spread_);
  considered_ = -1;
}

void OwnColumns::erase(int i, int candidate) {
  other_ = values_.col(i).head(n_);
  considered_ = candidate;
  other_spread_ = spreads_[i];
  spreads_.erase(spreads_.begin() + i);
  --k_;
  for (int j = i; j < k_; ++j) {
    values_.col(j).head(n_) = values_.col(j + 1).head(n_);
  }
}

const Eigen::VectorXd& OwnColumns::consider(const CandidatePool& pool,
                                            int candidate) const {
  if (considered_ == candidate) return other_;
  other_.resize(pool.places());
  evaluate(pool, candidate, 0, other_);
  times_root(other_, other_spread_);
  considered_ = candidate;
  return other_;
}

CandidateSums OwnColumns::gather(const CandidatePool& pool, int candidate,
                                 double power, std::vector<double>& g) const {
  const Arithmetic& arithmetic = *pool.own_kernels().arithmetic;
  const Eigen::VectorXd& own = consider(pool, candidate);
  const int m = pool.fixed();
  Eigen::Map<Eigen::VectorXd> with_fixed(g.data(), m),
      with_set(g.data() + m, k_);
  const Eigen::VectorXd beside = arithmetic.product(pool.beside(), own);
  with_fixed = beside.head(m);
  if (k_ > 0) with_set = arithmetic.product(columns(), own);
  CandidateSums sums{own.squaredNorm(), beside[m]};
  if (power == 1) return sums;
  // Without a share of the latest row.
  const int at = pool.latest_place();
  const double value = own[at], part = (1 - power) * value;
  for (int i = 0; i < m; ++i) with_fixed[i] -= part * pool.fixed_value(at, i);
  for (int i = 0; i < k_; ++i) with_set[i] -= part * values_(at, i);
  sums.gram -= part * value;
  sums.rhs -= part * pool.latest_response();
  return sums;
}

void OwnColumns::sum(const CandidatePool& pool, double power,
                     LowerTriangle& gram, std::vector<double>& rhs) const {
  const Arithmetic& arithmetic = *pool.own_kernels().arithmetic;
  const auto others = pool.beside();
  const Eigen::MatrixXd& own = pool.beside_sums();
  const int m = pool.fixed(), p = k_ + m;
  const int at = pool.places() - 1;
  Eigen::MatrixXd inner(k_, k_), outer(k_, m + 1);
  if (k_ > 0) {
    inner = arithmetic.squares(columns());
    outer = arithmetic.products(columns(), others);
  }
  const double share = 1 - power;
  const auto less = [&](double sum, double a, double b) {
    return sum - share * a * b;
  };
  const auto other = [&](int j) { return others(at, j); };
  gram.resize(p);
  rhs.resize(p);
  for (int j = 0; j < m; ++j) {
    rhs[j] = less(own(m, j), other(m), other(j));
    for (int i = j; i < m; ++i)
      gram(i, j) = less(own(i, j), other(i), other(j));
  }
  for (int j = 0; j < k_; ++j) {
    const double value = values_(at, j);
    rhs[m + j] = less(outer(j, m), other(m), value);
    for (int i = 0; i < m; ++i) {
      gram(m + j, i) = less(outer(j, i), other(i), value);
    }
    for (int i = j; i < k_; ++i) {
      gram(m + i, m + j) = less(inner(i, j), values_(at, i), value);
    }
  }
}

}  // namespace kernelbayes::srvm
