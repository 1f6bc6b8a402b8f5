// The shapes of bark kernels, to and from plain R lists.
#pragma once

#include <RcppEigen.h>

#include <vector>

#include "core/bark/state.hpp"

namespace bark_r {

using namespace kernelbayes;

/// Appends what slots have of their own, slot by slot without the intercept;
/// nothing where they have no shapes.
void add_shapes(Rcpp::List& out, const std::vector<bark::Slot>& slots);

/// The reverse; p numbers a slot.
void take_shapes(const Rcpp::List& list, std::size_t p,
                 std::vector<bark::Slot>& slots);

}  // namespace bark_r
