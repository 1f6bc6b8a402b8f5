#pragma once

#include "core/bark/state/state.hpp"

namespace kernelbayes::bark {

/// Places to which kernels may move, with everything needed to weigh them: a
/// uniform subset of the locations that contains the occupied ones or, for
/// kernels with their own shapes, their places and others from the prior. As
/// part of the state it has the same probability wherever kernels are, if the
/// number of occupied locations is the same; together with places from the
/// prior the state has the prior density of all of them. derivations/bark.md,
/// section 3.5.
class Candidates {
 public:
  static constexpr int kSize = 200;

  /// `size` of them, more than the occupied ones; all locations if there are
  /// fewer.
  Candidates(const State& state, int size, Rng& rng);

  /// Moves a slot that has one varphi to a candidate, drawn approximately from
  /// its full conditional distribution, and draws a new varphi. True if moved.
  bool relocate(State& state, int slot, double power, Rng& rng);

  int size() const { return static_cast<int>(places_.size()); }
  int location(int i) const { return places_[i].location; }

  /// For a kernel at candidate i, after a slot is removed, given what that
  /// leaves of the response.
  Information information(const State& state, int i, const Change& out,
                          double left_of_response) const;

 private:
  void choose(const State& state, int wanted, Rng& rng);
  void choose_rows(const State& state, int wanted, Rng& rng);
  void weigh(const State& state, const Change& out, double power,
             double left_of_response);
  void remove(const State& state, const Change& out);
  void add(State& state, int i, const Slot& slot);

  std::vector<Place> places_;
  std::vector<int> candidate_;  // of each slot
  std::vector<char> occupied_;
  Eigen::MatrixXd exponents_, values_;  // a column per candidate
  Eigen::VectorXd own_, response_;      // k'Wk, k'Wy
  // With g = K'Wk of a candidate k: g', g' Sig (a row per candidate, a column
  // per slot), g' Sig g and g' mu.
  Eigen::MatrixXd gram_, cross_;
  Eigen::VectorXd square_, fit_;
  Eigen::VectorXd weights_, exponents_of_weights_;  // see weigh()
};

}  // namespace kernelbayes::bark
