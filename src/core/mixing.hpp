// R-hat and effective sample sizes of Markov chains: Vehtari, Gelman, Simpson,
// Carpenter and Buerkner (2021), Bayesian Analysis 16, 667-718.
#pragma once

#include <cstddef>
#include <vector>

namespace kernelbayes {
namespace mixing {

/// Chains of the same length, one after the other.
struct Chains {
  const double* draws;
  std::size_t length, number;
  std::size_t size() const { return length * number; }
};

/// NaN where there is none.
struct Summary {
  double ess_bulk, ess_tail, rhat;
};

/// Effective sample size of the mean, of all chains together, by their halves.
double mean_size(const Chains& chains);

/// R-hat (the larger one of ranks and of ranks of distances from the median)
/// and effective sample sizes of ranks and of the tails. Draws are finite and
/// not all equal. `scores` are the normal scores of the ranks 1, 3/2, 2, ... of
/// the draws in the halves.
Summary summarise(const Chains& chains, const std::vector<double>& scores);

}  // namespace mixing
}  // namespace kernelbayes
