#pragma once

#include <array>

#include "archive.hpp"

namespace kernelbayes {

/// How often each kind of move was tried and accepted; a model may lack some.
template <class Kind, int kKinds>
struct MoveCounts {
  std::array<double, kKinds> tried{}, accepted{};
  std::array<bool, kKinds> exists;

  MoveCounts() { exists.fill(true); }

  void note(Kind kind, bool moved) {
    ++tried[kind];
    accepted[kind] += moved;
  }

  void transfer(Archive& archive, const char* (*name_of)(int)) {
    std::vector<std::string> names;
    std::vector<int> kinds;
    for (int kind = 0; kind < kKinds; ++kind) {
      if (!exists[kind]) continue;
      kinds.push_back(kind);
      names.push_back(name_of(kind));
    }
    const auto carry = [&](const char* name, auto& counts) {
      std::vector<double> values;
      for (const int kind : kinds) values.push_back(counts[kind]);
      archive(name, values, Want::between(0, 1e300, kinds.size()));
      archive.label(name, names);
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        counts[kinds[i]] = values[i];
      }
    };
    carry("tried", tried);
    carry("accepted", accepted);
  }
};

}  // namespace kernelbayes
