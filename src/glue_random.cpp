#include <Rcpp.h>

#include <algorithm>
#include <kernelbayes/resample.hpp>
#include <numeric>

#include "glue/lists.hpp"
#include "glue/stream.hpp"

using kernelbayes::ResamplingScheme;
using kernelbayes::Rng;

// The first uniform number of a stream.
// [[Rcpp::export(rng = false)]]
double stream_uniform_cpp(const std::vector<std::string>& from) {
  return stream_from_r(from).uniform();
}

// Counts of n draws, one column per repetition.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix resample_cpp(std::string name, std::vector<double> weights,
                                 int n, const std::vector<std::string>& from,
                                 int repetitions) {
  const ResamplingScheme scheme = kernelbayes::resampling::scheme(name);
  require(!weights.empty() && n >= 0 && repetitions >= 0,
          "numbers of weights and draws disagree");
  Rng rng = stream_from_r(from);
  Rcpp::IntegerMatrix out(static_cast<int>(weights.size()), repetitions);
  for (int r = 0; r < repetitions; ++r) {
    const std::vector<int> counts = scheme(weights, n, rng);
    std::copy(counts.begin(), counts.end(), out.column(r).begin());
  }
  return out;
}

// [[Rcpp::export(rng = false)]]
std::vector<int> ancestors_in_place_cpp(std::vector<int> counts) {
  for (const int count : counts) require(count >= 0, "counts are below 0");
  require(std::accumulate(counts.begin(), counts.end(), 0.0) <= kMostCount,
          "counts are too large");
  return kernelbayes::resampling::ancestors_in_place(counts);
}
