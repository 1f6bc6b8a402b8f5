#pragma once

#include <cstdint>
#include <vector>

#include "resample.hpp"

namespace kernelbayes {

/// How much of the ancestry is kept: the number of distinct founders per step,
/// also the ancestors at every step, or also the states at every step (written
/// by the target).
enum class History { kSummary, kGenealogy, kFull };

struct SmcSettings {
  int particles = 250;
  ResamplingScheme resampling = resampling::systematic;
  double ess_threshold = 0.5;  // a fraction of the number of particles
  bool resample_every_step = false;
  // A datum enters by these powers, the last of them 1 (none: at once), and by
  // others between them if its conditional effective sample size, a fraction of
  // the number of particles, would be below the threshold.
  std::vector<double> powers;
  double cess_threshold = 0;
  /// Does every datum enter gradually?
  bool stops() const { return powers.size() > 1; }
  History history = History::kSummary;
  std::uint64_t seed = 0;
};

/// Records of each step; weights are those before resampling.
struct SmcPath {
  std::vector<double> log_increment;   // log of the evidence's factor at t
  std::vector<double> log_lost;        // the part of it from data that left
  std::vector<double> log_predictive;  // of datum t, if the target knows it
  std::vector<double> ess;
  std::vector<double> ess_lowest;  // while datum t entered
  std::vector<int> increases;      // in how many it entered
  std::vector<int> founders;       // distinct ancestors at t = 0
  std::vector<int> particles;      // their number
  std::vector<char> resampled;     // before or while its data entered
};

}  // namespace kernelbayes
