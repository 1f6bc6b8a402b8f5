#pragma once

#include "../archive.hpp"

namespace kernelbayes::kgs {

/// Of moves that are not counted.
struct NoCounts {
  template <class Model>
  explicit NoCounts(const Model&) {}
  void note_exchange(bool) {}
  void transfer(Archive&) {}
};

}  // namespace kernelbayes::kgs
