// How often moves were tried and accepted, to and from R.
#pragma once

#include <Rcpp.h>

#include <algorithm>

#include "glue/lists.hpp"

/// The first `kinds` of them under their names.
template <class Array>
Rcpp::NumericVector named_counts(const Array& counts, int kinds,
                                 const char* (*name_of)(int)) {
  Rcpp::NumericVector out(counts.begin(), counts.begin() + kinds);
  Rcpp::CharacterVector names;
  for (int kind = 0; kind < kinds; ++kind) names.push_back(name_of(kind));
  out.names() = names;
  return out;
}

/// `tried` and `accepted` of a list.
template <class Counts>
Counts counts_from_r(const Rcpp::List& list) {
  Counts out;
  const auto tried = get<double>(list, "tried"),
             accepted = get<double>(list, "accepted");
  require(tried.size() <= out.tried.size() && accepted.size() == tried.size(),
          "the state counts other moves");
  std::copy(tried.begin(), tried.end(), out.tried.begin());
  std::copy(accepted.begin(), accepted.end(), out.accepted.begin());
  return out;
}
