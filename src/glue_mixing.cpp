// R-hat and effective sample sizes of many quantities.
#include <Rcpp.h>

#include <vector>

#include "core/mixing.hpp"
#include "glue/lists.hpp"

namespace {

kernelbayes::mixing::Chains column(const Rcpp::NumericMatrix& draws, int j,
                                   int chains) {
  require(chains > 0 && draws.nrow() % chains == 0, "chains differ in length");
  return {draws.begin() + static_cast<std::size_t>(j) * draws.nrow(),
          static_cast<std::size_t>(draws.nrow() / chains),
          static_cast<std::size_t>(chains)};
}

}  // namespace

// For each column of `draws`, chain after chain: bulk and tail effective sample
// size and R-hat, a row each. `scores` are those of the ranks 1, 3/2, 2, ...
// Without them, the effective sample size of the mean.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix mixing_cpp(
    const Rcpp::NumericMatrix& draws, int chains,
    const Rcpp::Nullable<Rcpp::NumericVector>& scores) {
  const bool of_mean = scores.isNull();
  const auto known = Rcpp::as<std::vector<double>>(
      of_mean ? Rcpp::NumericVector() : Rcpp::NumericVector(scores));
  Rcpp::NumericMatrix out(of_mean ? 1 : 3, draws.ncol());
  for (int j = 0; j < draws.ncol(); ++j) {
    const auto one = column(draws, j, chains);
    if (of_mean) {
      out(0, j) = kernelbayes::mixing::mean_size(one);
      continue;
    }
    require(known.size() + 1 >= 4 * one.number * (one.length / 2),
            "the scores are incomplete");
    const auto found = kernelbayes::mixing::summarise(one, known);
    out(0, j) = found.ess_bulk;
    out(1, j) = found.ess_tail;
    out(2, j) = found.rhat;
  }
  return out;
}
