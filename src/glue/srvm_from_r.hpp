// The srvm engine's configuration and state, to and from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <vector>

#include "core/srvm/filter.hpp"

namespace srvm_r {

using namespace kernelbayes;

/// A kernel, or those of a dictionary.
std::vector<Kernel> kernels(const Rcpp::List& kernel);

srvm::Model model(const Rcpp::List& config);

srvm::Config config(const Rcpp::List& config);

/// Sets, variances and factors.
Rcpp::List particles_to_r(const std::vector<srvm::Particle>& particles);
std::vector<srvm::Particle> particles_from_r(const Rcpp::List& state,
                                             bool intercept);

/// All of a run, to the last bit.
Rcpp::List state_to_r(const srvm::Filter& filter);
/// `known`: null, or the pool of this very state.
void restore(srvm::Filter& filter, const Rcpp::List& list, bool intercept,
             const srvm::CandidatePool* known, const Executor& executor);

}  // namespace srvm_r
