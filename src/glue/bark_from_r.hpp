// The bark engine's configuration and state, to and from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <string>

#include "core/bark/state/state.hpp"

namespace bark_r {

using namespace kernelbayes;

bark::Prior prior(const Rcpp::List& list);

bark::TermData terms(const Rcpp::List& list);

const Arithmetic& arithmetic(const Rcpp::List& config);

bark::Data data(const Rcpp::List& config, const Eigen::MatrixXd& x,
                const Eigen::VectorXd& y, const Eigen::VectorXd& weights);

/// Refuses parts that disagree.
void check_sizes(const bark::Prior& prior, const bark::Data& data);

}  // namespace bark_r
