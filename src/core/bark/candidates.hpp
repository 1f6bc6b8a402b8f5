#pragma once

#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// Locations that kernels may go to, with all that is needed to know what each
/// would be worth there: a uniform subset of those that hold the occupied ones.
/// As part of the state it has the same probability wherever kernels are, as
/// long as they occupy as many locations.
class Candidates {
 public:
  static constexpr int kSize = 200;

  /// `size` of them, more than are occupied; all locations if there are fewer.
  Candidates(const State& state, int size, Rng& rng);

  /// A slot with a single varphi goes to a candidate, chosen nearly as by its
  /// distribution given all else, with a new varphi. True if it moved.
  bool relocate(State& state, int slot, double power, Rng& rng);

  int size() const { return static_cast<int>(locations_.size()); }
  int location(int i) const { return locations_[i]; }

  /// Of a kernel at candidate i, once a slot is out.
  Information information(const State& state, int i,
                          const Change& out) const;

 private:
  void choose(const State& state, int wanted, Rng& rng);
  int weigh(const State& state, const Change& out, double power);
  void remove(const State& state, const Change& out);
  void add(State& state, int i, const Slot& slot);

  std::vector<int> locations_;
  Eigen::MatrixXd exponents_, values_;  // a column a candidate
  Eigen::VectorXd own_, response_;      // k'Wk, k'Wy
  // With g = K'Wk of a candidate k: g', g' Sig (a row a candidate, a column a
  // slot), g' Sig g and g' mu.
  Eigen::MatrixXd gram_, cross_;
  Eigen::VectorXd square_, fit_;
  Eigen::VectorXd weights_, exponents_of_weights_;  // see weigh()
};

}  // namespace bark
}  // namespace kernelbayes
