// What kgs() reads from plain R lists and writes to them.
#pragma once

#include <RcppEigen.h>

#include "core/kgs/chain.hpp"
#include "lists.hpp"

namespace kgs_r {

kernelbayes::kgs::Data data(const Rcpp::List& list);
kernelbayes::kgs::Method method(const std::string& name);

Rcpp::List lines_to_r(const kernelbayes::kgs::Lines::Saved& lines);
kernelbayes::kgs::Lines::Saved lines_from_r(const Rcpp::List& list);

}  // namespace kgs_r
