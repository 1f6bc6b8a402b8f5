#pragma once

#include <RcppEigen.h>

#include <optional>

#include "core/radial_kernel.hpp"
#include "kernelbayes/kernel.hpp"

/// The R value of a kernel (a plain list, see R/kernel.R) as a C++ Kernel.
kernelbayes::Kernel kernel_from_r(const Rcpp::List& kernel);

/// If its bandwidths are learned.
std::optional<kernelbayes::RadialKernel> learned_kernel(
    const Rcpp::List& kernel);
