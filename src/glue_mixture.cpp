#include <RcppEigen.h>

#include <cmath>

#include "core/mixture.hpp"
#include "core/mixture_crps.hpp"
#include "core/student_mixture.hpp"
#include "glue/lists.hpp"

namespace {

// Weights of the components of a row: its own part, or those of all rows.
const double* weights_of(const Eigen::VectorXd& weights, Eigen::Index row,
                         Eigen::Index components) {
  return weights.data() + (weights.size() > components ? row * components : 0);
}

// Values of f + e at a row: f is normal, e has squared scales `noise`.
struct Row {
  Eigen::Map<const Eigen::VectorXd> weights;
  Eigen::VectorXd means, variances, noise;

  int n() const { return static_cast<int>(means.size()); }
  // Standard deviations if e is normal too; not 0, as at point masses.
  Eigen::VectorXd sds() const {
    return (variances + noise).cwiseSqrt().cwiseMax(1e-150);
  }
  kernelbayes::NormalMixture normal(const Eigen::VectorXd& sds) const {
    return {n(), weights.data(), means.data(), sds.data()};
  }
  kernelbayes::StudentMixture student(
      const kernelbayes::StudentRules& rules) const {
    return {n(),          weights.data(), means.data(), variances.data(),
            noise.data(), rules};
  }
};

// Calls body(i, row) for each row of the n x N matrices. `scales`: the noise, a
// line for each row or one for all, or NULL, none; `df` of e per column, or one
// number for all.
template <typename Body>
void for_each_row(const Eigen::MatrixXd& means,
                  const Eigen::MatrixXd& variances,
                  const Rcpp::Nullable<Rcpp::NumericMatrix>& scales,
                  const Eigen::VectorXd& weights, const std::vector<double>& df,
                  Body body) {
  const Eigen::Index n = means.rows(), components = means.cols();
  Eigen::MatrixXd noise = Eigen::MatrixXd::Zero(1, components);
  if (scales.isNotNull()) noise = Rcpp::as<Eigen::MatrixXd>(scales.get());
  require(
      components > 0 && variances.rows() == n &&
          variances.cols() == components && noise.cols() == components &&
          (noise.rows() == 1 || noise.rows() == n) &&
          (weights.size() == components || weights.size() == means.size()) &&
          (df.size() == 1 ||
           static_cast<Eigen::Index>(df.size()) == components),
      "the components of a mixture disagree");
  for (Eigen::Index i = 0; i < n; ++i) {
    body(i, Row{{weights_of(weights, i, components), components},
                means.row(i),
                variances.row(i),
                noise.row(noise.rows() == 1 ? 0 : i)});
  }
}

bool is_normal(const std::vector<double>& df) {
  return df.size() == 1 && std::isinf(df[0]);
}

void check_rows(const Eigen::VectorXd& y, Eigen::Index rows) {
  require(y.size() == rows, "responses and rows disagree");
}

bool are_squares(const Eigen::VectorXd& v) {
  return v.allFinite() && v.minCoeff() >= 0;
}

}  // namespace

// Quantiles (rows x probabilities) of f + e of each row: f is a mixture of
// normals, e Student-t, or normal (one infinite df).
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd mixture_quantiles_cpp(
    const Eigen::MatrixXd& means, const Eigen::MatrixXd& variances,
    const Rcpp::Nullable<Rcpp::NumericMatrix>& noise,
    const Eigen::VectorXd& weights, const std::vector<double>& df,
    const Eigen::VectorXd& probabilities) {
  Eigen::MatrixXd out(means.rows(), probabilities.size());
  const auto normal_quantile = [](double p) { return R::qnorm(p, 0, 1, 1, 0); };
  const auto fill = [&](Eigen::Index i, const Row& row, auto quantile) {
    for (Eigen::Index j = 0; j < probabilities.size(); ++j) {
      out(i, j) =
          std::isfinite(row.means[0])
              ? quantile(probabilities[j], normal_quantile(probabilities[j]))
              : NA_REAL;
    }
  };
  if (is_normal(df)) {
    for_each_row(means, variances, noise, weights, df,
                 [&](Eigen::Index i, const Row& row) {
                   const Eigen::VectorXd sds = row.sds();
                   const auto mixture = row.normal(sds);
                   fill(i, row, [&](double p, double z) {
                     return mixture.quantile(p, z);
                   });
                 });
    return out;
  }
  const kernelbayes::StudentRules rules(df);
  const double least = rules.least_df();
  kernelbayes::SumMixture rough(df);
  for_each_row(means, variances, noise, weights, df,
               [&](Eigen::Index i, const Row& row) {
                 const auto mixture = row.student(rules);
                 rough.set(row.weights, row.means, row.variances, row.noise);
                 const auto below = [&](double x) { return rough.below(x); };
                 fill(i, row, [&](double p, double z) {
                   const double half = std::min(p, 1 - p) / 2;
                   return mixture.quantile(p, z, R::qt(p, least, 1, 0),
                                           normal_quantile(half),
                                           R::qt(half, least, 1, 0), below);
                 });
               });
  return out;
}

// log density of f + e of each row at y.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd mixture_log_density_cpp(
    const Eigen::MatrixXd& means, const Eigen::MatrixXd& variances,
    const Rcpp::Nullable<Rcpp::NumericMatrix>& noise,
    const Eigen::VectorXd& weights, const std::vector<double>& df,
    const Eigen::VectorXd& y) {
  check_rows(y, means.rows());
  const bool normal = is_normal(df);
  const kernelbayes::StudentRules rules(normal ? std::vector<double>() : df);
  Eigen::VectorXd out(means.rows());
  for_each_row(means, variances, noise, weights, df,
               [&](Eigen::Index i, const Row& row) {
                 out[i] = normal ? row.normal(row.sds()).log_density(y[i])
                                 : row.student(rules).log_density(y[i]);
               });
  return out;
}

// Continuous ranked probability score of f + e of each row at y, and the
// probability of a value below y.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd mixture_crps_cpp(
    const Eigen::MatrixXd& means, const Eigen::MatrixXd& variances,
    const Rcpp::Nullable<Rcpp::NumericMatrix>& noise,
    const Eigen::VectorXd& weights, const std::vector<double>& df,
    const Eigen::VectorXd& y) {
  check_rows(y, means.rows());
  Eigen::MatrixXd out(means.rows(), 2);
  kernelbayes::SumMixture mixture(df);
  for_each_row(means, variances, noise, weights, df,
               [&](Eigen::Index i, const Row& row) {
                 if (!(row.means.allFinite() && std::isfinite(y[i]) &&
                       are_squares(row.variances) && are_squares(row.noise))) {
                   out.row(i).setConstant(NA_REAL);
                   return;
                 }
                 // Another layout of the means would round their sum otherwise.
                 mixture.set(row.weights, means.row(i), variances.row(i),
                             row.noise);
                 out(i, 0) = mixture.crps(y[i]);
                 out(i, 1) = mixture.below(y[i]);
               });
  return out;
}
