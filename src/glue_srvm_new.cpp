#include <RcppEigen.h>

#include "core/srvm/moments.hpp"
#include "core/srvm/transfer.hpp"
#include "glue/archive.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace {

using namespace kernelbayes;

srvm::SeenRows seen_rows(const Eigen::MatrixXd& y, double shift) {
  srvm::SeenRows out;
  const auto data = srvm::data_of(y, shift);
  out.y.resize(y.rows());
  out.roots.resize(y.rows());
  for (Eigen::Index s = 0; s < y.rows(); ++s) {
    out.y[s] = data[s].y;
    out.roots[s] = data[s].root;
  }
  return out;
}

// Kernel values of rows with new points and with each other, for one particle.
class Values {
 public:
  Values(const srvm::Model& model, const Eigen::MatrixXd& x,
         const Eigen::MatrixXd& points, const Eigen::MatrixXd& bandwidths)
      : model_(model),
        x_(x),
        points_(points),
        bandwidths_(bandwidths),
        rows_fixed_(model.fixed_columns.at(x)),
        points_fixed_(model.fixed_columns.at(points)) {
    if (model.learns_scales()) return;
    gram_.resize(x.rows(), x.rows());
    model.kernels[0].gram(x, gram_);
    shared_.rows_points.resize(x.rows(), points.rows());
    model.kernels[0].block(x, points, shared_.rows_points);
    shared_.self.resize(points.rows());
    model.kernels[0].diagonal(points, shared_.self);
  }

  /// `centres` are rows; `spreads` theirs, or none.
  const srvm::NewPoints& of(int particle, const std::vector<int>& centres,
                            const std::vector<double>& spreads) {
    if (model_.learns_scales()) evaluate(bandwidths_.col(particle));
    const int k = static_cast<int>(centres.size()), m = model_.fixed();
    shared_.rows_design.resize(x_.rows(), m + k);
    shared_.at_design.resize(points_.rows(), m + k);
    shared_.rows_design.leftCols(m) = rows_fixed_;
    shared_.at_design.leftCols(m) = points_fixed_;
    for (int j = 0; j < k; ++j) {
      if (model_.learns_scales()) {
        column(x_.row(centres[j]), shared_.rows_design.col(m + j));
      } else {
        shared_.rows_design.col(m + j) = gram_.col(centres[j]);
      }
      shared_.at_design.col(m + j) = shared_.rows_points.row(centres[j]);
      if (spreads.empty()) continue;
      shared_.rows_design.col(m + j) *= std::sqrt(spreads[j]);
      shared_.at_design.col(m + j) *= std::sqrt(spreads[j]);
    }
    return shared_;
  }

 private:
  void evaluate(const Eigen::VectorXd& bandwidths) {
    squares_ = bandwidths.array().square().inverse();
    shared_.self.setOnes(points_.rows());
    shared_.rows_points.resize(x_.rows(), points_.rows());
    for (Eigen::Index i = 0; i < points_.rows(); ++i) {
      column(points_.row(i), shared_.rows_points.col(i));
    }
  }
  void column(const Eigen::VectorXd& centre, Eigen::Ref<Eigen::VectorXd> out) {
    const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x_.rows());
    model_.learned->evaluate(Arithmetic::best(), squares_, x_, centre, ones,
                             out);
  }

  const srvm::Model& model_;
  const Eigen::MatrixXd &x_, &points_, &bandwidths_;
  Eigen::MatrixXd rows_fixed_, points_fixed_;
  Eigen::MatrixXd gram_;
  Eigen::VectorXd squares_;
  srvm::NewPoints shared_;
};

}  // namespace

// Components of the posterior of f at new points: `mean` and `variance`, points
// x (1 + Q)N, and log weights, (1 + Q)N x points, up to a constant: of N
// particles, then of these with the point as a centre, by its spread.
// `candidates` are rows (from 1); `rule` is Q x 2: values of the spread, and
// their probabilities.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_new_moments_cpp(Rcpp::List config, Rcpp::List state,
                                SEXP candidates, const Eigen::VectorXd& noise,
                                const Eigen::MatrixXd& bandwidths,
                                const Eigen::MatrixXd& rule,
                                const Eigen::MatrixXd& x,
                                const Eigen::MatrixXd& y,
                                const Eigen::MatrixXd& points) {
  const srvm::Model model = srvm_r::model(config);
  const auto particles = srvm_r::particles(state, model);
  const int n = static_cast<int>(particles.size());
  srvm_r::check_columns(model, x.cols());
  const auto rows = indices_from_r(candidates, "rows", x.rows());
  require(y.rows() == x.rows() && points.cols() == x.cols() &&
              noise.size() == n && rule.cols() == 2 &&
              (!model.learns_scales() ||
               (bandwidths.rows() == x.cols() && bandwidths.cols() == n)),
          "particles and rows disagree");
  const srvm::SeenRows seen = seen_rows(y, model.shift);
  const srvm::PriorStep step(model.centres, static_cast<int>(rows.size()) + 1);
  Values values(model, x, points, bandwidths);
  const srvm::SpreadRule spreads{rule.col(0), rule.col(1)};
  const Eigen::Index components = 1 + rule.rows();
  Eigen::MatrixXd mean(points.rows(), components * n);
  Eigen::MatrixXd variance(points.rows(), components * n);
  Eigen::MatrixXd log_weight(points.rows(), components * n);
  for (int i = 0; i < n; ++i) {
    std::vector<int> centres;
    for (const int candidate : particles[i].set) {
      require(candidate < static_cast<int>(rows.size()),
              "a centre is not among the candidates");
      centres.push_back(rows[candidate]);
    }
    std::vector<srvm::NewMoments> out;
    for (Eigen::Index q = 0; q < components; ++q) {
      const Eigen::Index at = q * n + i;
      out.push_back({mean.col(at), variance.col(at), log_weight.col(at)});
    }
    const std::vector<double>& own = particles[i].own.spreads();
    moments_at_new(particles[i], model, step, seen, values.of(i, centres, own),
                   spreads, noise[i], out);
  }
  return Rcpp::List::create(Rcpp::_["mean"] = mean,
                            Rcpp::_["variance"] = variance,
                            Rcpp::_["log_weight"] = log_weight.transpose());
}
