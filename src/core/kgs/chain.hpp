#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "block.hpp"
#include "mover.hpp"
#include "noise.hpp"

namespace kernelbayes {
namespace kgs {

struct ChainSettings {
  Method method = Method::kHmc;
  int warmup = 0, iterations = 1000, thin = 1;
  Noise noise;
  double nugget = 0;  // of Method::kBlock
  int kept = 0;       // coordinates that draws hold, of each function
  std::uint64_t seed = 0;
  Eigen::VectorXd start;  // empty: a draw of the prior, separated if it must
};

/// Kept draws, one after the other: of w of unit length the first coordinates
/// (of each function), the rates, the wrong labels by class; and how often each
/// label was wrong.
struct Draws {
  std::vector<double> w, rates;
  std::vector<int> wrong;
  std::vector<double> flipped;
};

/// No vector without wrong labels was found, and none is allowed.
struct NotSeparable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A Gibbs sampler of the direction and of the rates of wrong labels; a
/// resumable state machine.
class Chain {
 public:
  Chain(Data data, const ChainSettings& settings);
  // The mover refers to this object's walls.
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Saved {
    int time = 0;
    Eigen::VectorXd g, f, sides;  // of Method::kBlock: u for g
    Rates rates;
    Lines::Saved lines;
    std::array<std::uint64_t, 4> rng{};
    Draws draws;
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  void start();
  void iterate();
  void record();
  std::vector<int> wrong() const;
  bool is_wrong(int datum) const;

  Data data_;
  ChainSettings settings_;
  Rng rng_;
  std::vector<int> total_;  // labels by class
  Rates rates_;
  std::unique_ptr<Block> block_;  // of Method::kBlock, which has no walls
  std::unique_ptr<Walls> walls_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Mover> mover_;
  Draws draws_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace kgs
}  // namespace kernelbayes
