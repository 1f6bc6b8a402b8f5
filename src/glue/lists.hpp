// Values that all engines read from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <kernelbayes/rng.hpp>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

constexpr double kMostCount = std::numeric_limits<int>::max();

template <typename T>
std::vector<T> get(const Rcpp::List& list, const char* name) {
  return Rcpp::as<std::vector<T>>(list[name]);
}

/// The entry of a table under a name.
template <typename T>
T named(const std::map<std::string, T>& table, const std::string& name) {
  const auto found = table.find(name);
  if (found == table.end()) {
    throw std::invalid_argument("nothing is named '" + name + "' here");
  }
  return found->second;
}

// What follows may come from an edited file: nothing is read beyond its end.

/// Ends the call with the package's error of a damaged fit. From the main
/// thread only.
[[noreturn]] void refuse_damage(const std::string& problem);

inline void require(bool fits, const char* problem) {
  if (!fits) refuse_damage(problem);
}

/// Whole numbers that C++ uses as sizes or indices, all within the bounds.
std::vector<int> counts_from_r(SEXP values, const char* name, double lower,
                               double upper);
int count_from_r(SEXP value, const char* name, double lower, double upper);

/// An entry of a list.
inline int count_from_r(const Rcpp::List& list, const char* name,
                        double lower = 0, double upper = kMostCount) {
  const SEXP value = list[name];
  return count_from_r(value, name, lower, upper);
}

/// Indices of R, from 1 to `size`, as those of C++, from 0.
std::vector<int> indices_from_r(SEXP values, const char* name,
                                Eigen::Index size);

/// The seed of one run (a replicate or a chain), from the seed of the fit.
inline std::uint64_t run_seed(const Rcpp::List& config, const char* index) {
  return kernelbayes::Rng::derive(
      static_cast<std::uint64_t>(Rcpp::as<int>(config["seed"])),
      Rcpp::as<int>(config[index]));
}
