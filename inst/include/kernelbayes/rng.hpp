#pragma once

#include <array>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/poisson_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/xoshiro.hpp>
#include <cstdint>

namespace kernelbayes {

/// One stream of random numbers: xoshiro256++ and Boost's distributions, so
/// that a seed gives the same numbers on every platform.
///
/// A stream is keyed on (seed, major, minor): chain and temperature for Markov
/// chains, time and particle for sequential samplers. Work can then be split
/// over threads and processes in any way without changing results.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t major = 0,
               std::uint64_t minor = 0) {
    std::uint64_t key = mix(mix(mix(seed) ^ major) ^ minor);
    std::array<std::uint64_t, 4> state;
    for (auto& word : state) word = mix(key += kGolden);
    engine_.seed(state.begin(), state.end());
  }

  /// A seed for a family of streams, e.g. one replicate of a run.
  static std::uint64_t derive(std::uint64_t seed, std::uint64_t index) {
    return mix(mix(seed ^ kGolden) + index * kGolden);
  }

  /// Uniform on [0, 1).
  double uniform() { return boost::random::uniform_01<double>()(engine_); }

  /// Standard normal.
  double normal() { return normal_(engine_); }

  /// Gamma with the given shape and scale 1.
  double gamma(double shape) {
    return boost::random::gamma_distribution<double>(shape)(engine_);
  }

  /// Inverse gamma with density proportional to v^(-shape-1) exp(-scale/v).
  double inverse_gamma(double shape, double scale) {
    return scale / gamma(shape);
  }

  int poisson(double mean) {
    return boost::random::poisson_distribution<int, double>(mean)(engine_);
  }

  /// Uniform on {0, ..., n - 1}, without bias (Lemire, 2019).
  std::uint32_t index(std::uint32_t n) {
    std::uint64_t product = high_word() * n;
    auto low = static_cast<std::uint32_t>(product);
    if (low < n) {
      const std::uint32_t threshold = (0u - n) % n;
      while (low < threshold) {
        product = high_word() * n;
        low = static_cast<std::uint32_t>(product);
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  std::array<std::uint64_t, 4> state() const { return engine_.state(); }

  void set_state(const std::array<std::uint64_t, 4>& state) {
    engine_.seed(state.begin(), state.end());
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

  // The finaliser of splitmix64: a bijection that spreads every bit.
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  std::uint64_t high_word() { return engine_() >> 32; }

  boost::random::xoshiro256pp engine_;
  boost::random::normal_distribution<double> normal_;
};

}  // namespace kernelbayes
