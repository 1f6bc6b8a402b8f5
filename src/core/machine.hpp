#pragma once

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

}  // namespace kernelbayes
