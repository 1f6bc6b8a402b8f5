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

// R'R, or R' diag(weights) R.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd features_gram_cpp(
    const Eigen::Map<Eigen::MatrixXd>& features,
    const Rcpp::Nullable<Rcpp::NumericVector>& weights) {
  if (weights.isNull()) return kbr::gram(features);
  const auto w = Rcpp::as<Eigen::VectorXd>(Rcpp::NumericVector(weights));
  require(features.rows() == w.size(), "features and weights disagree");
  return kbr::weighted_gram(features, w);
}

// left' diag(weights) right.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd features_cross_cpp(const Eigen::Map<Eigen::MatrixXd>& left,
                                   const Eigen::Map<Eigen::MatrixXd>& right,
                                   const Eigen::VectorXd& weights) {
  require(left.rows() == weights.size() && right.rows() == weights.size(),
          "features and weights disagree");
  return kbr::weighted_cross(left, right, weights);
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
