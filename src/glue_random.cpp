#include <Rcpp.h>

#include <algorithm>
#include <kernelbayes/resample.hpp>

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
  return kernelbayes::resampling::ancestors_in_place(counts);
}
