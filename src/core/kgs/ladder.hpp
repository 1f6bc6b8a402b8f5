#pragma once

#include <array>
#include <cstdint>

#include "mover.hpp"

namespace kernelbayes {
namespace kgs {

struct LadderSettings {
  Method method = Method::kHmc;
  int warmup = 0, iterations = 1000;
  std::vector<double> beta;  // costs of a wrong label: 0 first, increasing
  std::uint64_t seed = 0;
};

/// Chains under one cost of wrong labels each, neighbours exchanged. The first,
/// whose cost is 0, is drawn from the prior afresh each time. What is kept are
/// the numbers of wrong labels, from which their distribution under the prior
/// follows. A resumable state machine.
class Ladder {
 public:
  Ladder(const Data& data, const LadderSettings& settings);
  Ladder(const Ladder&) = delete;
  Ladder& operator=(const Ladder&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Level {
    Eigen::VectorXd g, f, sides;
    Lines::Saved lines;
  };
  struct Saved {
    int time = 0;
    std::vector<Level> levels;
    std::array<std::uint64_t, 4> rng{};
    std::vector<int> errors;      // level by level in each iteration
    std::vector<double> swapped;  // with the next, after the warmup
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  int levels() const { return static_cast<int>(states_.size()); }
  void iterate();
  void exchange_neighbours();

  Walls walls_;
  LadderSettings settings_;
  Rng rng_;
  std::vector<State> states_;
  std::vector<Mover> movers_;
  std::vector<int> errors_;
  std::vector<double> swapped_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace kgs
}  // namespace kernelbayes
