#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/bark/state.hpp"

namespace bark_r {

using Move = std::function<void(kernelbayes::bark::State&, double power,
                                kernelbayes::Rng&)>;

/// All moves of one state, with steps of a fixed size.
const std::map<std::string, Move>& moves();

}  // namespace bark_r
