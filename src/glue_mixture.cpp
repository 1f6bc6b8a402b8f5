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

// `noise`: of f + e, otherwise as the variances.
void check_sizes(const Eigen::MatrixXd& means, const Eigen::MatrixXd& variances,
                 const Eigen::MatrixXd& noise, const Eigen::VectorXd& weights) {
  const Eigen::Index n = means.rows(), components = means.cols();
  require(components > 0 && variances.rows() == n &&
              variances.cols() == components && noise.cols() == components &&
              (noise.rows() == 1 || noise.rows() == n) &&
              (weights.size() == components || weights.size() == means.size()),
          "the components of a mixture disagree");
}

// One number for all components, or one each.
void check_df(const std::vector<double>& df, Eigen::Index components) {
  require(df.size() == 1 || static_cast<Eigen::Index>(df.size()) == components,
          "the components of a mixture disagree");
}

void check_rows(const Eigen::VectorXd& y, Eigen::Index rows) {
  require(y.size() == rows, "responses and rows disagree");
}

bool are_squares(const Eigen::RowVectorXd& v) {
  return v.allFinite() && v.minCoeff() >= 0;
}

// Calls body(row, mixture) for each row of the n x N matrices.
template <typename Body>
void for_each_row(const Eigen::MatrixXd& means,
                  const Eigen::MatrixXd& variances,
                  const Eigen::VectorXd& weights, Body body) {
  check_sizes(means, variances, variances, weights);
  Eigen::VectorXd m(means.cols()), s(means.cols());
  for (Eigen::Index i = 0; i < means.rows(); ++i) {
    m = means.row(i);
    s = variances.row(i).cwiseSqrt().cwiseMax(1e-150);  // point masses
    body(i, kernelbayes::NormalMixture{static_cast<int>(m.size()),
                                       weights_of(weights, i, m.size()),
                                       m.data(), s.data()});
  }
}

// The same for mixtures of f + t. `noise`: squared scales of t, a line for each
// row or one for all; degrees of freedom per column, or one number for all.
template <typename Body>
void for_each_student(const Eigen::MatrixXd& means,
                      const Eigen::MatrixXd& variances,
                      const Eigen::MatrixXd& noise,
                      const Eigen::VectorXd& weights,
                      const kernelbayes::StudentRules& rules, Body body) {
  check_sizes(means, variances, noise, weights);
  Eigen::VectorXd m(means.cols()), v(means.cols()), s(means.cols());
  for (Eigen::Index i = 0; i < means.rows(); ++i) {
    m = means.row(i);
    v = variances.row(i);
    s = noise.row(noise.rows() == 1 ? 0 : i);
    body(i, kernelbayes::StudentMixture{static_cast<int>(m.size()),
                                        weights_of(weights, i, m.size()),
                                        m.data(), v.data(), s.data(), rules});
  }
}

}  // namespace

// Quantiles (rows x probabilities) of the normal mixture of each row; `z` are
// the standard normal's quantiles.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd mixture_quantiles_cpp(const Eigen::MatrixXd& means,
                                      const Eigen::MatrixXd& variances,
                                      const Eigen::VectorXd& weights,
                                      const Eigen::VectorXd& probabilities,
                                      const Eigen::VectorXd& z) {
  require(probabilities.size() == z.size(), "probabilities disagree");
  Eigen::MatrixXd out(means.rows(), z.size());
  for_each_row(means, variances, weights,
               [&](Eigen::Index i, const kernelbayes::NormalMixture& mixture) {
                 for (Eigen::Index j = 0; j < z.size(); ++j) {
                   out(i, j) = std::isfinite(mixture.means[0])
                                   ? mixture.quantile(probabilities[j], z[j])
                                   : NA_REAL;
                 }
               });
  return out;
}

// log density of the normal mixture of each row at y.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd mixture_log_density_cpp(const Eigen::MatrixXd& means,
                                        const Eigen::MatrixXd& variances,
                                        const Eigen::VectorXd& weights,
                                        const Eigen::VectorXd& y) {
  check_rows(y, means.rows());
  Eigen::VectorXd out(means.rows());
  for_each_row(means, variances, weights,
               [&](Eigen::Index i, const kernelbayes::NormalMixture& mixture) {
                 out[i] = mixture.log_density(y[i]);
               });
  return out;
}

// Quantiles of f + e for each row, f normal and e Student-t with scale^2 =
// noise.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd student_quantiles_cpp(const Eigen::MatrixXd& means,
                                      const Eigen::MatrixXd& variances,
                                      const Eigen::MatrixXd& noise,
                                      const Eigen::VectorXd& weights,
                                      const std::vector<double>& df,
                                      const Eigen::VectorXd& probabilities) {
  check_df(df, means.cols());
  Eigen::MatrixXd out(means.rows(), probabilities.size());
  const kernelbayes::StudentRules rules(df);
  const double least = rules.least_df();
  kernelbayes::SumMixture rough(df);
  for_each_student(
      means, variances, noise, weights, rules,
      [&](Eigen::Index i, const kernelbayes::StudentMixture& mixture) {
        const auto all = [&](const double* values) {
          return Eigen::Map<const Eigen::VectorXd>(values, mixture.n);
        };
        rough.set(all(mixture.weights), all(mixture.means),
                  all(mixture.variances), all(mixture.noise));
        const auto below = [&](double x) { return rough.below(x); };
        for (Eigen::Index j = 0; j < probabilities.size(); ++j) {
          const double p = probabilities[j], half = std::min(p, 1 - p) / 2;
          out(i, j) = std::isfinite(mixture.means[0])
                          ? mixture.quantile(p, R::qnorm(p, 0, 1, 1, 0),
                                             R::qt(p, least, 1, 0),
                                             R::qnorm(half, 0, 1, 1, 0),
                                             R::qt(half, least, 1, 0), below)
                          : NA_REAL;
        }
      });
  return out;
}

// log density of f + e of each row at y.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd student_log_density_cpp(const Eigen::MatrixXd& means,
                                        const Eigen::MatrixXd& variances,
                                        const Eigen::MatrixXd& noise,
                                        const Eigen::VectorXd& weights,
                                        const std::vector<double>& df,
                                        const Eigen::VectorXd& y) {
  check_rows(y, means.rows());
  check_df(df, means.cols());
  Eigen::VectorXd out(means.rows());
  for_each_student(
      means, variances, noise, weights, kernelbayes::StudentRules(df),
      [&](Eigen::Index i, const kernelbayes::StudentMixture& mixture) {
        out[i] = mixture.log_density(y[i]);
      });
  return out;
}

// Continuous ranked probability score of f + e of each row at y, and the
// probability of a value below y. e is Student-t, or normal (infinite df).
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd mixture_crps_cpp(const Eigen::MatrixXd& means,
                                 const Eigen::MatrixXd& variances,
                                 const Eigen::MatrixXd& noise,
                                 const Eigen::VectorXd& weights,
                                 const std::vector<double>& df,
                                 const Eigen::VectorXd& y) {
  check_sizes(means, variances, noise, weights);
  check_rows(y, means.rows());
  check_df(df, means.cols());
  Eigen::MatrixXd out(means.rows(), 2);
  kernelbayes::SumMixture mixture(df);
  for (Eigen::Index i = 0; i < means.rows(); ++i) {
    const Eigen::RowVectorXd scales = noise.row(noise.rows() == 1 ? 0 : i);
    if (!(means.row(i).allFinite() && std::isfinite(y[i]) &&
          are_squares(variances.row(i)) && are_squares(scales))) {
      out.row(i).setConstant(NA_REAL);
      continue;
    }
    const Eigen::Map<const Eigen::VectorXd> own(
        weights_of(weights, i, means.cols()), means.cols());
    mixture.set(own, means.row(i), variances.row(i), scales);
    out(i, 0) = mixture.crps(y[i]);
    out(i, 1) = mixture.below(y[i]);
  }
  return out;
}
