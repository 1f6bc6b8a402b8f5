// The bark engine's configuration and state, to and from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <string>
#include <vector>

#include "core/bark/chain.hpp"
#include "core/bark/ladder.hpp"

namespace bark_r {

using namespace kernelbayes;

bark::Family family(const std::string& name);

bark::Prior prior(const Rcpp::List& list);

bark::Data data(const Rcpp::List& config, const Eigen::MatrixXd& x,
                const Eigen::VectorXd& y, const Eigen::VectorXd& weights);

bark::ChainSettings chain_settings(const Rcpp::List& config);
bark::LadderSettings ladder_settings(const Rcpp::List& config);

// To the last bit, for runs that go on; in glue_bark.cpp.
Rcpp::List states_to_r(const std::vector<bark::State::Saved>& states);
std::vector<bark::State::Saved> states_from_r(const Rcpp::List& list);
Rcpp::List steps_to_r(const std::vector<bark::Steps>& steps);
std::vector<bark::Steps> steps_from_r(const Rcpp::List& list);

/// Kernels, scales and noise, for tests.
Rcpp::List state_to_r(const bark::State& state);

}  // namespace bark_r
