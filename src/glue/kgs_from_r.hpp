// Data of kgs() from a plain R list.
#pragma once

#include <RcppEigen.h>

#include "core/kgs/walls.hpp"

namespace kgs_r {

kernelbayes::kgs::Data data(const Rcpp::List& list);

}  // namespace kgs_r
