#include <RcppEigen.h>

#include "core/kbr/gram.hpp"
#include "core/kbr/simplex.hpp"
#include "glue/lists.hpp"

namespace kbr = kernelbayes::kbr;

namespace {

Rcpp::List to_r(const kbr::Gain& gain) {
  return Rcpp::List::create(Rcpp::Named("matrix") = gain.matrix,
                            Rcpp::Named("spectrum") = gain.spectrum);
}

}  // namespace

// x' diag(weights) y; without y, of x with itself.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd crossprod_cpp(
    const Eigen::Map<Eigen::MatrixXd>& x,
    const Rcpp::Nullable<Rcpp::NumericMatrix>& y = R_NilValue,
    const Rcpp::Nullable<Rcpp::NumericVector>& weights = R_NilValue) {
  if (y.isNull() && weights.isNull()) return kbr::gram(x);
  Eigen::VectorXd w = Eigen::VectorXd::Ones(x.rows());
  if (weights.isNotNull()) w = Rcpp::as<Eigen::VectorXd>(weights.get());
  require(x.rows() == w.size() && (y.isNull() || Rf_nrows(y.get()) == x.rows()),
          "features and weights disagree");
  if (y.isNull()) return kbr::weighted_gram(x, w);
  return kbr::weighted_cross(x, Rcpp::as<Eigen::Map<Eigen::MatrixXd>>(y.get()),
                             w);
}

// [[Rcpp::export(rng = false)]]
double features_mass_cpp(const Eigen::Map<Eigen::MatrixXd>& features,
                         const Eigen::VectorXd& weights) {
  require(features.rows() == weights.size(), "features and weights disagree");
  return kbr::weighted_mass(features, weights);
}

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd ridge_coefficients_cpp(const Eigen::MatrixXd& gram,
                                       const Eigen::MatrixXd& moments,
                                       double ridge) {
  require(gram.rows() == gram.cols() && gram.rows() == moments.rows(),
          "moments and their Gram matrix disagree");
  return kbr::ridge_coefficients(gram, moments, ridge);
}

// The nearest probability to weights that sum to 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List kbr_probability_cpp(const Eigen::Map<Eigen::MatrixXd>& features,
                               const Eigen::VectorXd& weights, double ridge) {
  require(features.rows() == weights.size() && ridge > 0,
          "features and weights disagree");
  const kbr::Probability nearest =
      kbr::nearest_probability(features, weights, ridge);
  return Rcpp::List::create(Rcpp::Named("weights") = nearest.weights,
                            Rcpp::Named("distance") = nearest.distance);
}

// The nearest increasing sequence.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd isotonic_cpp(const Eigen::Map<Eigen::VectorXd>& values) {
  return kbr::isotonic(values);
}

// `squared`: S (S^2 + delta)^-1, otherwise (S + delta)^-1.
// [[Rcpp::export(rng = false)]]
Rcpp::List kbr_gain_cpp(const Eigen::MatrixXd& gram, double delta,
                        bool squared) {
  require(gram.rows() == gram.cols(), "the Gram matrix must be square");
  return to_r(squared ? kbr::squared_gain(gram, delta)
                      : kbr::ridge_gain(gram, delta));
}
