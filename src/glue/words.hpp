// The state of a random number stream: R has no 64-bit integers, so each word
// becomes two numbers of 32 bits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

inline std::vector<double> words_to_r(
    const std::array<std::uint64_t, 4>& words) {
  std::vector<double> out;
  for (const std::uint64_t word : words) {
    out.push_back(static_cast<double>(word >> 32));
    out.push_back(static_cast<double>(word & 0xffffffffULL));
  }
  return out;
}

inline std::array<std::uint64_t, 4> words_from_r(
    const std::vector<double>& halves) {
  std::array<std::uint64_t, 4> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint64_t>(halves.at(2 * i)) << 32 |
             static_cast<std::uint64_t>(halves.at(2 * i + 1));
  }
  return out;
}
