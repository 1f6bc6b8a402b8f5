#pragma once

#include <cmath>

namespace kernelbayes {

/// A way to choose a state: a move with probability alpha, then a state with
/// density q. If there are finitely many states, the product alpha q may be
/// given as the probability.
struct MoveChoice {
  double probability;
  double log_density = 0;
};

/// The general formula for the weights of trans-dimensional sequential Monte
/// Carlo (after Vermaak, Godsill and Doucet, 2003, whose printed weights omit
/// the alphas; Del Moral, Doucet and Jasra, 2006, section 3.3):
///
///   W = [gamma_t(S) / gamma_{t-1}(S')] [alpha'_i(S) q'_i(S' | S)]
///                                    / [alpha_i(S') q_i(S | S')]     (T1)
///
/// for a particle S' that took move i to S. It is exact, that is,
///
///   sum_i int gamma_{t-1}(S') alpha_i(S') q_i(S | S') W dS' = gamma_t(S), (T2)
///
/// under three conditions, for any other choice of alpha' q':
///
///   1. the alpha'_i(S) of all moves sum to 1, for every S of step t;
///   2. q'_i(. | S) is a normalised density over the states of step t - 1,
///      wherever alpha'_i(S) > 0;
///   3. gamma_{t-1}(S') alpha_i(S') q_i(S | S') > 0 wherever
///      gamma_t(S) alpha'_i(S) q'_i(S' | S) > 0.
///
/// The usual mistake concerns 2: if S contains something that did not exist at
/// step t - 1, its only possible ancestors are without it. Undoing every birth
/// by a death that is uniform over all of S gives probability to impossible
/// ancestors, and the weights are biased even with all alphas included.
inline double log_general_weight(double log_target_ratio, MoveChoice reverse,
                                 MoveChoice forward) {
  return log_target_ratio +
         std::log(reverse.probability / forward.probability) +
         reverse.log_density - forward.log_density;
}

}  // namespace kernelbayes
