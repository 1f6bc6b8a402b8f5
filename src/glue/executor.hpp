// The executors that glue code passes to the core.
#pragma once

#include <cstddef>
#include <kernelbayes/parallel.hpp>

/// Splits the range over the calling thread and `threads` - 1 more, into parts
/// of at least `worth_splitting`. It never checks for user interrupts: these
/// are handled between calls of the core.
kernelbayes::Executor make_executor(int threads,
                                    std::size_t worth_splitting = 16);
