// Data of kgs() from a plain R list.
#pragma once

#include <RcppEigen.h>

#include "core/kgs/noisy_model.hpp"
#include "core/kgs/walls.hpp"

namespace kgs_r {

kernelbayes::kgs::Data data(const Rcpp::List& list);

kernelbayes::kgs::Noise noise(const Rcpp::List& list);

/// Of functions with noise.
kernelbayes::kgs::NoisyModel noisy_model(const Rcpp::List& config,
                                         const Rcpp::List& data);

}  // namespace kgs_r
