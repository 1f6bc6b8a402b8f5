// The parts of predictions from bark fits: f at points, draw by draw.
#include <RcppEigen.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/linalg.hpp"
#include "glue/lists.hpp"

namespace {

using Rcpp::_;

// The draws of all chains in R's memory, without a copy.
class PooledDraws {
 public:
  explicit PooledDraws(const Rcpp::List& list)
      : m_(list["m"]),
        location_(list["location"]),
        included_(list["included"]),
        log_lambda_(list["log_lambda"]),
        beta_(list["beta"]),
        factor_(list["factor"]),
        z_(list["z"]),
        own_centre_(list.containsElementNamed("centre")),
        own_scales_(list.containsElementNamed("own_included")),
        projected_(list.containsElementNamed("directions")) {
    if (list.containsElementNamed("slopes")) slopes_ = list["slopes"];
    if (projected_) directions_ = list["directions"];
    if (own_centre_) centre_ = list["centre"];
    if (own_scales_) {
      own_log_lambda_ = list["own_log_lambda"];
      own_included_ = list["own_included"];
    }
    std::size_t slots = 0, entries = 0;
    for (const int m : m_) {
      require(m >= 0, "a draw has fewer than no kernels");
      first_slot_.push_back(slots);
      first_entry_.push_back(entries);
      slots += m;
      entries += static_cast<std::size_t>(m) * (m + 1) / 2;
    }
    require(same(location_, slots) && same(beta_, slots) &&
                (conditional() || (same(z_, slots) && same(factor_, entries))),
            "the draws are incomplete");
  }

  // The requested draws, from 0, if they fit the predictors and rows.
  std::vector<int> checked(SEXP chosen, const Eigen::MatrixXd& x,
                           const Eigen::MatrixXd& train) const {
    const Eigen::Index p = x.cols(), rows = train.rows();
    require(train.cols() == p, "rows differ in their predictors");
    for (const int location : location_) {
      require(location >= (own_centre_ ? -1 : 0) && location <= rows,
              "a kernel is not at a row");
    }
    const std::size_t own = location_.size() * p, each = m_.size() * p;
    require(!projected_ || (each > 0 && directions_.size() % each == 0),
            "the draws are incomplete");
    const std::size_t shared =
        m_.size() * (projected_ ? directions_.size() / each : p);
    require(own_scales_ ? same(own_log_lambda_, own) && same(own_included_, own)
                        : same(log_lambda_, shared) && same(included_, shared),
            "the draws are incomplete");
    require(!own_centre_ || same(centre_, own), "the draws are incomplete");
    require(slopes_.size() == 0 || same(slopes_, each),
            "the draws are incomplete");
    return indices_from_r(chosen, "draws", m_.size());
  }

  using Map = Eigen::Map<const Eigen::VectorXd>;
  Map beta(int i) const { return {beta_.begin() + first_slot_[i], m_[i]}; }
  Map z(int i) const { return {z_.begin() + first_slot_[i], m_[i]}; }

  Eigen::MatrixXd factor(int i) const {
    const int m = m_[i];
    const double* next = factor_.begin() + first_entry_[i];
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(m, m);
    for (int j = 0; j < m; ++j) {
      for (int r = j; r < m; ++r) out(r, j) = *next++;
    }
    return out;
  }

  // Do kernels depend on x along directions?
  bool projected() const { return projected_; }

  // Mean of the coefficients. Draws of the truncation approximation, which does
  // not integrate them out, have no factor: f is then known.
  bool conditional() const { return z_.size() == 0; }
  Eigen::VectorXd mean(int i) const {
    if (conditional()) return beta(i);
    return factor(i).triangularView<Eigen::Lower>().transpose().solve(z(i));
  }

  // Mean and variance of linear functions of the coefficients, the rows of
  // `columns`.
  void moments(int i, const Eigen::MatrixXd& columns,
               Eigen::Ref<Eigen::VectorXd> mean,
               Eigen::Ref<Eigen::VectorXd> variance) const {
    if (conditional()) {
      mean = columns * beta(i);
      variance.setZero();
      return;
    }
    const Eigen::MatrixXd h =
        factor(i).triangularView<Eigen::Lower>().solve(columns.transpose());
    mean = h.transpose() * z(i);
    variance = h.colwise().squaredNorm().transpose();
  }

  /// Adds what slopes on some columns of x, or on all, are to the rows.
  template <class Points>
  void add_slopes(int i, const Points& x, Eigen::Ref<Eigen::VectorXd> f,
                  const std::vector<bool>* only = nullptr) const {
    if (slopes_.size() == 0) return;
    const Map slopes(slopes_.begin() + i * x.cols(), x.cols());
    for (Eigen::Index l = 0; l < x.cols(); ++l) {
      if (!only || (*only)[l]) f += slopes[l] * x.col(l);
    }
  }

  // Columns of the kernel at the rows of x for the slots of draw i.
  Eigen::MatrixXd columns(int i, const Eigen::MatrixXd& x,
                          const Eigen::MatrixXd& train) const {
    if (!projected_) return columns(i, x, train, nullptr);
    const auto u = directions(i, x.cols());
    return columns(i, x * u, train * u, nullptr);
  }

  // The same for x itself; over the predictors in `only` if given.
  Eigen::MatrixXd columns(int i, const Eigen::MatrixXd& x,
                          const Eigen::MatrixXd& train,
                          const std::vector<bool>* only) const {
    const int m = m_[i];
    const int* location = location_.begin() + first_slot_[i];
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(x.rows(), m);
    for (Eigen::Index l = 0; l < x.cols(); ++l) {
      if (only && !(*only)[l]) continue;
      double lambda = own_scales_ ? 0 : scale_of_all(i, l, x.cols());
      if (lambda == 0 && !own_scales_) continue;
      for (int j = 0; j < m; ++j) {
        if (location[j] == 0) continue;
        const std::size_t own = (first_slot_[i] + j) * x.cols() + l;
        if (own_scales_) {
          lambda = own_included_[own] ? std::exp(own_log_lambda_[own]) : 0;
        }
        const double centre =
            own_centre_ ? centre_[own] : train(location[j] - 1, l);
        out.col(j).array() -= lambda * (x.col(l).array() - centre).square();
      }
    }
    return out.array().exp();
  }

 private:
  template <class Vector>
  static bool same(const Vector& vector, std::size_t size) {
    return static_cast<std::size_t>(vector.size()) == size;
  }

  double scale_of_all(int i, Eigen::Index l, Eigen::Index p) const {
    return included_[i * p + l] ? std::exp(log_lambda_[i * p + l]) : 0;
  }

  // U of draw i, a column per direction.
  Eigen::Map<const Eigen::MatrixXd> directions(int i, Eigen::Index p) const {
    const Eigen::Index d = included_.size() / m_.size();
    return {directions_.begin() + i * p * d, p, d};
  }

  Rcpp::IntegerVector m_, location_, included_;
  Rcpp::NumericVector log_lambda_, beta_, factor_, z_, slopes_;
  // Kernel-specific shapes, p numbers per slot.
  bool own_centre_, own_scales_, projected_;
  Rcpp::NumericVector centre_, own_log_lambda_, directions_;
  Rcpp::IntegerVector own_included_;
  std::vector<std::size_t> first_slot_, first_entry_;
};

// The predictors that points replace, from 0.
std::vector<int> columns_from_r(SEXP varied, const Eigen::MatrixXd& points,
                                const Eigen::MatrixXd& x) {
  const std::vector<int> out = indices_from_r(varied, "predictors", x.cols());
  require(static_cast<Eigen::Index>(out.size()) == points.cols(),
          "points and predictors disagree");
  return out;
}

double normal_cdf(double x) {
  constexpr double kRootHalf = 0.70710678118654752440;
  return 0.5 * std::erfc(-x * kRootHalf);
}

// The mean of f, or of Phi(f), over rows at points that replace some
// predictors.
class Partial {
 public:
  Partial(const PooledDraws& all, const Eigen::MatrixXd& points,
          const std::vector<int>& moved, const Eigen::MatrixXd& rows,
          const Eigen::MatrixXd& train, bool moments, Eigen::Index draws)
      : all_(all),
        rows_(rows),
        train_(train),
        moved_(moved),
        at_(Eigen::MatrixXd::Zero(points.rows(), rows.cols())),
        vary_(rows.cols(), false),
        moments_(moments),
        mean(points.rows(), draws),
        variance(moments ? mean.rows() : 0, moments ? draws : 0) {
    for (std::size_t j = 0; j < moved.size(); ++j) {
      at_.col(moved[j]) = points.col(j);
      vary_[moved[j]] = true;
    }
    others_ = vary_;
    others_.flip();
  }

  void add(Eigen::Index i, int draw) {
    if (all_.projected()) {
      add_along(i, draw);
    } else {
      add_product(i, draw);
    }
  }

 private:
  // Kernels depend on x along directions: all rows are recomputed at each
  // point.
  void add_along(Eigen::Index i, int draw) {
    const Eigen::Index n = at_.rows();
    Eigen::MatrixXd means(n, all_.beta(draw).size()), at = rows_;
    Eigen::VectorXd slopes(rows_.rows()), mean_slopes(n);
    for (Eigen::Index k = 0; k < n; ++k) {
      for (const int l : moved_) at.col(l).setConstant(at_(k, l));
      const Eigen::MatrixXd columns = all_.columns(draw, at, train_);
      slopes.setZero();
      all_.add_slopes(draw, at, slopes);
      if (moments_) {
        means.row(k) = columns.colwise().mean();
        mean_slopes[k] = slopes.mean();
      } else {
        const Eigen::VectorXd f = columns * all_.beta(draw) + slopes;
        mean(k, i) = f.unaryExpr(&normal_cdf).mean();
      }
    }
    if (!moments_) return;
    all_.moments(draw, means, mean.col(i), variance.col(i));
    mean.col(i) += mean_slopes;
  }

  // A kernel is the product of one over the varied predictors, the same for all
  // rows, and one over the others, the same for all points: no value is
  // computed twice.
  void add_product(Eigen::Index i, int draw) {
    Eigen::MatrixXd by_point = all_.columns(draw, at_, train_, &vary_);
    const Eigen::MatrixXd by_row = all_.columns(draw, rows_, train_, &others_);
    Eigen::VectorXd row_slopes = Eigen::VectorXd::Zero(rows_.rows());
    Eigen::VectorXd point_slopes = Eigen::VectorXd::Zero(at_.rows());
    all_.add_slopes(draw, rows_, row_slopes, &others_);
    all_.add_slopes(draw, at_, point_slopes, &vary_);
    if (moments_) {
      by_point = by_point * by_row.colwise().mean().asDiagonal();
      all_.moments(draw, by_point, mean.col(i), variance.col(i));
      mean.col(i).array() += point_slopes.array() + row_slopes.mean();
      return;
    }
    Eigen::MatrixXd f =
        by_row * all_.beta(draw).asDiagonal() * by_point.transpose();
    f.colwise() += row_slopes;
    f.rowwise() += point_slopes.transpose();
    mean.col(i) = f.unaryExpr(&normal_cdf).colwise().mean().transpose();
  }

  const PooledDraws& all_;
  const Eigen::MatrixXd &rows_, &train_;
  std::vector<int> moved_;
  Eigen::MatrixXd at_;
  std::vector<bool> vary_, others_;
  bool moments_;

 public:
  Eigen::MatrixXd mean, variance;
};

}  // namespace

// At the rows of x, a column per draw in `chosen` (from 1), depending on
// `what`: the mean of f given all but the coefficients ("mean"), with its
// variance ("moments"), or f with the coefficients drawn ("draw").
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_values_cpp(const Rcpp::List& draws, const Eigen::MatrixXd& x,
                           const Eigen::MatrixXd& train,
                           const std::string& what,
                           const Rcpp::IntegerVector& chosen) {
  const PooledDraws all(draws);
  const std::vector<int> of = all.checked(chosen, x, train);
  const bool moments = what == "moments";
  const Eigen::Index n = x.rows(), s = chosen.size();
  Eigen::MatrixXd mean(n, s), variance(moments ? n : 0, moments ? s : 0);
  for (Eigen::Index i = 0; i < s; ++i) {
    const int draw = of[i];
    const Eigen::MatrixXd columns = all.columns(draw, x, train);
    if (what == "draw") {
      mean.col(i) = columns * all.beta(draw);
    } else if (moments) {
      all.moments(draw, columns, mean.col(i), variance.col(i));
    } else {
      mean.col(i) = columns * all.mean(draw);
    }
    all.add_slopes(draw, x, mean.col(i));
  }
  return Rcpp::List::create(_["mean"] = mean, _["variance"] = variance);
}

// The mean over `rows` when the values of each point replace the predictors
// `varied` (from 1), a row per point and a column per draw: of f
// with its variance ("moments"), or of Phi(f) with the coefficients drawn
// ("probability").
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_partial_cpp(const Rcpp::List& draws,
                            const Eigen::MatrixXd& points,
                            const Rcpp::IntegerVector& varied,
                            const Eigen::MatrixXd& rows,
                            const Eigen::MatrixXd& x, const std::string& what,
                            const Rcpp::IntegerVector& chosen) {
  const PooledDraws all(draws);
  const std::vector<int> of = all.checked(chosen, rows, x);
  Partial partial(all, points, columns_from_r(varied, points, x), rows, x,
                  what == "moments", chosen.size());
  for (std::size_t i = 0; i < of.size(); ++i) partial.add(i, of[i]);
  return Rcpp::List::create(_["mean"] = partial.mean,
                            _["variance"] = partial.variance);
}
