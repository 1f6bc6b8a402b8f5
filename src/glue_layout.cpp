// Checks of long vectors for R/fit-layout.R, in one pass and without copies.
#include <Rcpp.h>

#include <cfloat>

// Are all numbers finite and within the bounds?
// [[Rcpp::export(rng = false)]]
bool numbers_within_cpp(const Rcpp::NumericVector& values, double lower,
                        double upper) {
  lower = std::max(lower, -DBL_MAX);
  upper = std::min(upper, DBL_MAX);
  bool within = true;  // no branch, so that the loop is vectorised
  for (const double value : values) {
    within &= (value >= lower) & (value <= upper);
  }
  return within;
}

// Are these the entries of lower triangles with `sizes` rows each, column by
// column, all finite and the diagonals positive?
// [[Rcpp::export(rng = false)]]
bool triangles_sound_cpp(const Rcpp::NumericVector& entries,
                         const Rcpp::IntegerVector& sizes) {
  R_xlen_t at = 0;
  for (const int p : sizes) {
    if (p < 0 || entries.size() - at < R_xlen_t(p) * (p + 1) / 2) return false;
    for (int length = p; length > 0; at += length--) {
      if (!(entries[at] > 0)) return false;
    }
  }
  return at == entries.size() && numbers_within_cpp(entries, -DBL_MAX, DBL_MAX);
}
