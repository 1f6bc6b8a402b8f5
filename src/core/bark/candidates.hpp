#pragma once

#include "state.hpp"

namespace kernelbayes {
namespace bark {

/// Places that kernels may go to, with all that is needed to know what each
/// would be worth there: a uniform subset of the locations that holds the
/// occupied ones or, for kernels with shapes of their own, their places and
/// others from the prior. As part of the state it has the same probability
/// wherever kernels are, as long as they occupy as many locations; together
/// with places from the prior the state has the prior density of all of them.
/// derivations/bark.md, section 3.5.
class Candidates {
 public:
  static constexpr int kSize = 200;

  /// `size` of them, more than are occupied; all locations if there are fewer.
  Candidates(const State& state, int size, Rng& rng);

  /// A slot with a single varphi goes to a candidate, chosen nearly as by its
  /// distribution given all else, with a new varphi. True if it moved.
  bool relocate(State& state, int slot, double power, Rng& rng);

  int size() const { return static_cast<int>(places_.size()); }
  int location(int i) const { return places_[i].location; }

  /// Of a kernel at candidate i, once a slot is out.
  Information information(const State& state, int i, const Change& out) const;

 private:
  void choose(const State& state, int wanted, Rng& rng);
  void choose_rows(const State& state, int wanted, Rng& rng);
  void weigh(const State& state, const Change& out, double power);
  void remove(const State& state, const Change& out);
  void add(State& state, int i, const Slot& slot);

  std::vector<Place> places_;
  std::vector<int> candidate_;  // of each slot
  std::vector<char> occupied_;
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
