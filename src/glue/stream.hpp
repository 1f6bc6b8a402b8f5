// Random streams as named in R.
#pragma once

#include <kernelbayes/rng.hpp>
#include <string>
#include <vector>

/// A stream from hexadecimal words: its key (seed, major, minor), the pair
/// (seed, index) of a derived seed, or the four words of its state.
inline kernelbayes::Rng stream_from_r(const std::vector<std::string>& from) {
  std::vector<std::uint64_t> w;
  for (const auto& word : from) w.push_back(std::stoull(word, nullptr, 16));
  if (w.size() == 2)
    return kernelbayes::Rng(kernelbayes::Rng::derive(w[0], w[1]));
  kernelbayes::Rng rng(w.at(0), w.at(1), w.at(2));
  if (w.size() == 4) rng.set_state({w[0], w[1], w[2], w[3]});
  return rng;
}
