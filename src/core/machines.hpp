#pragma once

#include <kernelbayes/parallel.hpp>
#include <vector>

#include "machine.hpp"

namespace kernelbayes {

/// Advances independent machines by up to n units each, up to `threads` of them
/// at a time. Each machine is used by one thread at a time and has its own
/// random numbers: the result does not depend on the threads.
void advance_machines(const std::vector<Machine*>& machines, int n, int threads,
                      const Executor& executor);

}  // namespace kernelbayes
