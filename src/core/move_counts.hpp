#pragma once

#include <array>

#include "archive.hpp"

namespace kernelbayes {

/// How often each kind of move was tried and accepted; only the first `kinds`
/// exist.
template <class Kind, int kKinds>
struct MoveCounts {
  std::array<double, kKinds> tried{}, accepted{};
  int kinds = kKinds;

  void note(Kind kind, bool moved) {
    ++tried[kind];
    accepted[kind] += moved;
  }

  void transfer(Archive& archive, const char* (*name_of)(int)) {
    std::vector<std::string> names;
    for (int kind = 0; kind < kinds; ++kind) names.push_back(name_of(kind));
    const auto carry = [&](const char* name, auto& counts) {
      std::vector<double> values(counts.begin(), counts.begin() + kinds);
      archive(name, values, Want::between(0, 1e300, kinds));
      archive.label(name, names);
      std::copy(values.begin(), values.end(), counts.begin());
    };
    carry("tried", tried);
    carry("accepted", accepted);
  }
};

}  // namespace kernelbayes
