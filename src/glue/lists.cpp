#include "glue/lists.hpp"

#include <cmath>
#include <sstream>

void refuse_damage(const std::string& problem) {
  const Rcpp::Environment package =
      Rcpp::Environment::namespace_env("kernelbayes");
  const Rcpp::Function refuse = package["refuse_damaged_state"];
  refuse(problem);
  throw std::logic_error(problem);  // not reached
}

std::vector<int> counts_from_r(SEXP values, const char* name, double lower,
                               double upper) {
  bool whole = TYPEOF(values) == INTSXP || TYPEOF(values) == REALSXP;
  std::vector<int> out;
  if (whole) {
    for (const double value : Rcpp::NumericVector(values)) {
      // Also false for NaN.
      whole = whole && value >= lower && value <= upper &&
              value == std::floor(value);
      if (whole) out.push_back(static_cast<int>(value));
    }
  }
  if (!whole) {
    std::ostringstream problem;
    problem.precision(10);
    problem << name << " must be whole numbers from " << lower << " to "
            << upper;
    refuse_damage(problem.str());
  }
  return out;
}

int count_from_r(SEXP value, const char* name, double lower, double upper) {
  const std::vector<int> one = counts_from_r(value, name, lower, upper);
  if (one.size() != 1) refuse_damage(std::string(name) + " must be one number");
  return one[0];
}

std::vector<int> indices_from_r(SEXP values, const char* name,
                                Eigen::Index size) {
  std::vector<int> out =
      counts_from_r(values, name, 1, static_cast<double>(size));
  for (int& index : out) --index;
  return out;
}
