#pragma once

#include <cmath>

namespace kernelbayes {

/// A way to choose a state: a move with a probability alpha, then a state with
/// a density q. Where the states are finitely many, alpha q may as well be
/// given whole, as the probability.
struct MoveChoice {
  double probability;
  double log_density = 0;
};

/// The general law of the weights of trans-dimensional sequential Monte Carlo
/// (after Vermaak, Godsill and Doucet, 2003, whose printed weights leave the
/// alphas out; Del Moral, Doucet and Jasra, 2006, section 3.3):
///
///   W = [gamma_t(S) / gamma_{t-1}(S')] [alpha'_i(S) q'_i(S' | S)]
///                                    / [alpha_i(S') q_i(S | S')]     (T1)
///
/// for a particle S' that took move i to S. It is exact, which is to say
///
///   sum_i int gamma_{t-1}(S') alpha_i(S') q_i(S | S') W dS' = gamma_t(S), (T2)
///
/// if three things hold, whatever the reverse choice alpha' q' is otherwise:
///
///   1. the alpha'_i(S) of all moves sum to 1, for every S of step t;
///   2. q'_i(. | S) is a normalised density over the states of step t - 1,
///      wherever alpha'_i(S) > 0;
///   3. gamma_{t-1}(S') alpha_i(S') q_i(S | S') > 0 wherever
///      gamma_t(S) alpha'_i(S) q'_i(S' | S) > 0.
///
/// The usual trap is in 2: where S holds something that did not exist at
/// step t - 1, its only possible ancestors are without it. To undo every birth
/// by a death that is uniform over all of S gives probability to ancestors that
/// never were, and the weights are biased even with all alphas in place.
inline double log_general_weight(double log_target_ratio, MoveChoice reverse,
                                 MoveChoice forward) {
  return log_target_ratio +
         std::log(reverse.probability / forward.probability) +
         reverse.log_density - forward.log_density;
}

}  // namespace kernelbayes
