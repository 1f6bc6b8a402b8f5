// Values that all engines read from plain R lists.
#pragma once

#include <Rcpp.h>

#include <kernelbayes/rng.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

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

/// States and draws may come from an edited file: nothing is read beyond their
/// ends.
inline void require(bool fits, const char* what) {
  if (!fits) throw std::out_of_range(what);
}

/// The seed of one run (a replicate or a chain), from the seed of the fit.
inline std::uint64_t run_seed(const Rcpp::List& config, const char* index) {
  return kernelbayes::Rng::derive(
      static_cast<std::uint64_t>(Rcpp::as<int>(config["seed"])),
      Rcpp::as<int>(config[index]));
}
