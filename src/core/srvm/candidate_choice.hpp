#pragma once

#include <vector>

#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

/// How moves choose candidates: each has a weight a_j, a birth is of j outside
/// the set S with probability a_j / A(outside), a death of i in it with
/// a_i / A(S), A being sums of weights.
///
/// All weights are 1, but the candidate whose row comes in by degrees has a
/// quarter of their sum: that it joins in exchange for a centre is what a set
/// needs then, and hardly ever found blindly.
class CandidateChoice {
 public:
  explicit CandidateChoice(const CandidatePool& pool);

  /// A candidate outside the set; the place of one that is in it.
  int draw_outside(const std::vector<int>& set, Rng& rng) const;
  int draw_place(const std::vector<int>& set, Rng& rng) const;

  /// log of q(S' to S) / q(S to S'), where S' is S with j, without its i-th
  /// member, or with j in the place of that one: a free choice of j, or one
  /// that follows from that of i. (S19), (S20).
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

}  // namespace srvm
}  // namespace kernelbayes
