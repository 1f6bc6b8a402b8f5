#pragma once

#include <vector>

#include "particle.hpp"

namespace kernelbayes::srvm {

/// How moves choose candidates: each has a weight a_j, a birth chooses j
/// outside the set S with probability a_j / A(outside), a death i in it with
/// a_i / A(S), where A are sums of weights.
///
/// All weights are 1, except that a candidate whose row is entering has a
/// quarter of their sum: a set then often needs to exchange a centre for it,
/// which is hardly ever proposed by chance.
class CandidateChoice {
 public:
  explicit CandidateChoice(const CandidatePool& pool);

  /// A candidate outside the set; the place of one in the set.
  int draw_outside(const std::vector<int>& set, Rng& rng) const;
  int draw_place(const std::vector<int>& set, Rng& rng) const;

  /// log of q(S' to S) / q(S to S'), where S' is S with j, without its i-th
  /// member, or with j instead of it: with a free choice of j, or one that
  /// follows from the choice of i. (S19), (S20).
  double log_birth(const std::vector<int>& set, int j) const;
  double log_death(const std::vector<int>& set, int i) const;
  double log_swap(const std::vector<int>& set, int i, int j, bool free) const;

 private:
  double weight(int j) const {
    return j >= first_ && j < first_ + newcomers_ ? newcomer_ : 1;
  }
  double sum(const std::vector<int>& set) const;

  const CandidatePool& pool_;
  int newcomers_, first_;
  double newcomer_, total_;
};

}  // namespace kernelbayes::srvm
