// Internal entries through which tests reach the loops of each instruction set.
#include <RcppEigen.h>

#include "core/arithmetic.hpp"

using kernelbayes::Arithmetic;

// exp(-x), sum + scale (x - centre)^2, a'b, a'a, a'y, squared distances between
// rows of a and a point, each radial profile of these times y, and y less
// multiples of columns of a, with the set `name`.
// [[Rcpp::export(rng = false)]]
Rcpp::List arithmetic_cpp(const std::string& name, const Eigen::VectorXd& x,
                          double scale, double centre, Eigen::VectorXd sum,
                          const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                          const Eigen::VectorXd& y) {
  const Arithmetic& set = Arithmetic::at_most(name);
  Eigen::MatrixXd values(x.size(), 1);
  set.exp_minus(x, values);
  set.add_squares(scale, x, centre, sum);
  // Scales 1, 2, ... and centres 0.1, 0.2, ... of the columns of a.
  const Eigen::Index p = a.cols();
  const Eigen::VectorXd scales = Eigen::VectorXd::LinSpaced(p, 1, p);
  Eigen::VectorXd distances(a.rows());
  set.squared_distances(scales, a, scales / 10, distances);
  Eigen::MatrixXd radial(a.rows(), 4);
  for (int k = 0; k < 4; ++k) {
    radial.col(k) = distances;
    set.radial(static_cast<Arithmetic::Profile>(k), y, radial.col(k));
  }
  Eigen::VectorXd less = y;
  const double multiples[] = {1, -2, 0.5, 3};
  const double* from[4];
  for (int l = 0; l < 4; ++l) from[l] = a.col(std::min<int>(l, p - 1)).data();
  set.subtract_four()(static_cast<int>(y.size()), multiples, from, less.data());
  return Rcpp::List::create(
      Rcpp::_["name"] = set.name(), Rcpp::_["exp"] = Eigen::VectorXd(values),
      Rcpp::_["sum"] = sum, Rcpp::_["distances"] = distances,
      Rcpp::_["radial"] = radial, Rcpp::_["less"] = less,
      Rcpp::_["products"] = set.products(a, b),
      Rcpp::_["squares"] = set.squares(a),
      Rcpp::_["product"] = set.product(a, y));
}

// Phi(x), exp(-x^2 / 2) and a w, with the set `name`.
// [[Rcpp::export(rng = false)]]
Rcpp::List normal_times_cpp(const std::string& name, const Eigen::VectorXd& x,
                            const Eigen::MatrixXd& a,
                            const Eigen::VectorXd& w) {
  const Arithmetic& set = Arithmetic::at_most(name);
  Eigen::VectorXd cdf(x.size()), bell(x.size()), times(a.rows());
  set.normal(x, cdf, bell);
  set.times(a, w, times);
  return Rcpp::List::create(Rcpp::_["cdf"] = cdf, Rcpp::_["bell"] = bell,
                            Rcpp::_["times"] = times);
}

// p = 1 / (1 + exp(-t)), p (1 - p) and log(1 + exp(t)), with the set `name`.
// [[Rcpp::export(rng = false)]]
Rcpp::List logistic_cpp(const std::string& name, const Eigen::VectorXd& t) {
  Eigen::VectorXd p(t.size()), variance(t.size()), log_sum(t.size());
  Arithmetic::at_most(name).logistic(t, p, variance, log_sum);
  return Rcpp::List::create(Rcpp::_["p"] = p, Rcpp::_["variance"] = variance,
                            Rcpp::_["log_sum"] = log_sum);
}
