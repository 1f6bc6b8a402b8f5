#pragma once

#include "archive.hpp"

namespace kernelbayes {

/// A sampler that can be stopped after any unit of its work and go on, in
/// another process too, as if it had never been stopped.
class Machine {
 public:
  virtual ~Machine() = default;
  Machine() = default;
  // Parts of a machine refer to each other.
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Units of work done so far.
  virtual int time() const = 0;
  /// Does up to n further units, fewer where the work ends.
  virtual void advance(int n) = 0;
  /// Writes all that it needs to go on, and what it has found; or takes it up.
  virtual void transfer(Archive& archive) = 0;
};

}  // namespace kernelbayes
