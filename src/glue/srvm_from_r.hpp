// The srvm engine's configuration and state, to and from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <optional>
#include <vector>

#include "core/srvm/config.hpp"
#include "core/srvm/particle.hpp"
#include "glue/kernel_from_r.hpp"

namespace srvm_r {

using namespace kernelbayes;

/// A kernel, or the kernels of a dictionary.
std::vector<Kernel> kernels(const Rcpp::List& kernel);

srvm::Model model(const Rcpp::List& config);

/// Refuses points with another number of columns.
void check_columns(const srvm::Model& model, Eigen::Index columns);

srvm::Config config(const Rcpp::List& config);

/// Those of a state, with the spreads of their centres.
std::vector<srvm::Particle> particles(const Rcpp::List& state,
                                      const srvm::Model& model);

}  // namespace srvm_r
