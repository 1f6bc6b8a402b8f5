#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kernelbayes::srvm {

/// How past rows count. At time t the likelihood is that of the last `window`
/// rows, with a row of age a = 0, 1, ... raised to the power forgetting^a. The
/// candidate centres are rows in the window, at most (about) `candidates` of
/// them: with a window, one random row of every window / candidates; without, a
/// uniform sample of all rows (Vitter, 1985, algorithm R). Zero means no bound.
/// Which rows are candidates depends only on `seed` and t, never on the
/// particles: (S33), (S34) give the weights for changes.
struct Memory {
  int window = 0, candidates = 0;
  double forgetting = 1;
  std::uint64_t seed = 0;

  bool forgets() const { return forgetting < 1; }
  bool bounded() const { return window > 0 || candidates > 0 || forgets(); }

  /// The number of rows that count: the window, or those whose weight after
  /// forgetting is above rounding. Zero: all.
  int horizon() const {
    if (!forgets()) return window;
    const double last = std::ceil(std::log(1e-16) / std::log(forgetting));
    const int kept = std::max(1, static_cast<int>(std::min(last, 1e9)));
    return window > 0 ? std::min(window, kept) : kept;
  }
};

/// Weights of rows by age, and their sums.
class RowWeights {
 public:
  explicit RowWeights(const Memory& memory) {
    if (!memory.forgets()) return;
    double weight = 1, sum = 0;
    for (int age = 0; age <= memory.horizon(); ++age) {
      weights_.push_back(weight);
      sums_.push_back(sum);
      sum += weight;
      weight *= memory.forgetting;
    }
  }

  bool equal() const { return weights_.empty(); }
  double operator()(int age) const { return equal() ? 1 : weights_[age]; }

  /// Of the youngest n rows, the youngest `age` old.
  double sum(int n, int age) const {
    return equal() ? n : weights_[age] * sums_[n];
  }

 private:
  std::vector<double> weights_, sums_;
};

}  // namespace kernelbayes::srvm
