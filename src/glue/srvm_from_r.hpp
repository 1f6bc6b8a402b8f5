// The srvm engine's configuration and state, to and from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <optional>
#include <vector>

#include "core/srvm/config.hpp"

namespace srvm_r {

using namespace kernelbayes;

/// A kernel, or the kernels of a dictionary.
std::vector<Kernel> kernels(const Rcpp::List& kernel);

/// If its bandwidths are learned.
std::optional<srvm::RadialKernel> learned_kernel(const Rcpp::List& kernel);

srvm::Model model(const Rcpp::List& config);

srvm::Config config(const Rcpp::List& config);

}  // namespace srvm_r
