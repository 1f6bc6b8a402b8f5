#include <cmath>

#include "moves.hpp"

namespace kernelbayes::bark {

double similarities(const Arithmetic& arithmetic,
                    const Eigen::VectorXd& exponents, int own, double sharpness,
                    Eigen::VectorXd& out) {
  out = sharpness * exponents;
  arithmetic.exp_minus(out, out);
  out[own] = 0;
  return out.sum();
}

// (B27) with P of (B28): K is symmetric, so only the sums of similarities and
// the priors of the two rows remain.
bool local_move(State& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  if (prior.centre_sd > 0) return walk_move(state, power, rng);
  const int j = static_cast<int>(rng.index(state.size()));
  const int from = state.slot(j).location;
  const double sharpness = std::exp2(4 * rng.uniform());
  if (from == 0 || state.slot(j).copies > 1) return false;
  Eigen::VectorXd weights;
  const double leaving =
      similarities(*state.data().arithmetic, state.exponents(j), from - 1,
                   sharpness, weights);
  const int row = choose_weighted(weights, leaving, rng);
  if (row < 0 || state.find(row + 1) >= 0) return false;
  const Column& column = state.make_column({row + 1, state.slot(j).shape});
  const double back = similarities(*state.data().arithmetic, column.exponents,
                                   row, sharpness, weights);
  double log_ratio = std::log(leaving / back);
  if (!prior.centres.uniform()) {
    log_ratio += prior.centres.log_ratio(row + 1, from);
  }
  return move_kernel(state, j, column, log_ratio, power, rng);
}

}  // namespace kernelbayes::bark
