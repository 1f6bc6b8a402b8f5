// R-hat and effective sample sizes of Markov chains: Vehtari, Gelman, Simpson,
// Carpenter and Buerkner (2021), Bayesian Analysis 16, 667-718.
#pragma once

#include <cstddef>
#include <vector>

namespace kernelbayes::mixing {

/// Chains of the same length, one after another.
struct Chains {
  const double* draws;
  std::size_t length, number;
  std::size_t size() const { return length * number; }
};

/// NaN if undefined.
struct Summary {
  double ess_bulk, ess_tail, rhat;
};

/// Effective sample size of the mean for all chains together, from their
/// halves.
double mean_size(const Chains& chains);

/// R-hat (the larger of that of ranks and that of ranks of distances from the
/// median) and effective sample sizes of ranks and of the tails. Draws must be
/// finite and not all equal. `scores` are the normal scores of the ranks 1,
/// 3/2, 2, ... of the draws in the halves.
Summary summarise(const Chains& chains, const std::vector<double>& scores);

}  // namespace kernelbayes::mixing
