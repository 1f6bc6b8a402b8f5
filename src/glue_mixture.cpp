#include <RcppEigen.h>

#include <cmath>

#include "kernelbayes/mixture.hpp"

namespace {

// Calls body(row, mixture) for each row of the n x N matrices.
template <typename Body>
void for_each_row(const Eigen::MatrixXd& means,
                  const Eigen::MatrixXd& variances,
                  const Eigen::VectorXd& weights, Body body) {
  Eigen::VectorXd m(means.cols()), s(means.cols());
  for (Eigen::Index i = 0; i < means.rows(); ++i) {
    m = means.row(i);
    s = variances.row(i).cwiseSqrt().cwiseMax(1e-150);  // point masses
    body(i, kernelbayes::NormalMixture{static_cast<int>(m.size()),
                                       weights.data(), m.data(), s.data()});
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
  Eigen::VectorXd out(means.rows());
  for_each_row(means, variances, weights,
               [&](Eigen::Index i, const kernelbayes::NormalMixture& mixture) {
                 out[i] = mixture.log_density(y[i]);
               });
  return out;
}
