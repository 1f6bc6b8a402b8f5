// The executors that glue code passes to the core.
#pragma once

#include <kernelbayes/parallel.hpp>

/// Splits the range over the calling thread and `threads` - 1 more. It never
/// looks for user interrupts: those are taken between two calls of the core.
kernelbayes::Executor make_executor(int threads);
