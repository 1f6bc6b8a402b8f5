#include <Rcpp.h>

#include "core/arithmetic.hpp"

// The instruction set that the processor has, at most this one.
// [[Rcpp::export(rng = false)]]
std::string simd_cpp(const std::string& widest) {
  return kernelbayes::Arithmetic::at_most(widest).name();
}
