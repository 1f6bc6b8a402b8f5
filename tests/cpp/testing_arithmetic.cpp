// Internal entries through which tests reach the loops of each instruction set.
#include <RcppEigen.h>

#include "core/arithmetic.hpp"

using kernelbayes::Arithmetic;

// exp(-x), sum + scale (x - centre)^2, a'b, a'a and a'x with the set `name`.
// [[Rcpp::export(rng = false)]]
Rcpp::List arithmetic_cpp(const std::string& name, const Eigen::VectorXd& x,
                          double scale, double centre, Eigen::VectorXd sum,
                          const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                          const Eigen::VectorXd& y) {
  const Arithmetic& set = Arithmetic::at_most(name);
  Eigen::MatrixXd values(x.size(), 1);
  set.exp_minus(x, values);
  set.add_squares(scale, x, centre, sum);
  return Rcpp::List::create(
      Rcpp::_["name"] = set.name(), Rcpp::_["exp"] = Eigen::VectorXd(values),
      Rcpp::_["sum"] = sum, Rcpp::_["products"] = set.products(a, b),
      Rcpp::_["squares"] = set.squares(a),
      Rcpp::_["product"] = set.product(a, y));
}
