#pragma once

#include <chrono>
#include <kernelbayes/parallel.hpp>
#include <vector>

#include "archive.hpp"

namespace kernelbayes {

/// A sampler that can be stopped after any unit of work and continue, also in
/// another process, as if it had never been stopped.
class Machine {
 public:
  virtual ~Machine() = default;
  Machine() = default;
  // Parts of a machine refer to each other.
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Units of work done so far.
  virtual int time() const = 0;
  /// Does up to n further units, fewer if the work ends.
  virtual void advance(int n) = 0;
  /// Writes all that it needs to continue, and its results; or reads them.
  virtual void transfer(Archive& archive) = 0;
};

/// Advances independent machines by up to n units each, up to `threads` of them
/// at a time. Each machine is used by one thread at a time and has its own
/// random numbers: the result does not depend on the threads.
void advance_machines(const std::vector<Machine*>& machines, int n, int threads,
                      const Executor& executor);

/// Seconds since it was created.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace kernelbayes
