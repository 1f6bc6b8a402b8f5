#pragma once

#include <RcppEigen.h>

#include "kernelbayes/kernel.hpp"

/// The R value of a kernel (a plain list, see R/kernel.R) as a C++ Kernel.
kernelbayes::Kernel kernel_from_r(const Rcpp::List& kernel);
