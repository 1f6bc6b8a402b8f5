// Births, deaths and relocations of kernels of the truncation approximation.
#include "truncated_moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

bool birth(TruncatedState& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const int location = static_cast<int>(rng.index(state.data().n() + 1));
  const auto place = state.make_place(location);
  const CoefficientProposal proposal(prior, power * state.information(place));
  const double beta = proposal.draw(rng);
  const double odds = std::log(prior.nu / (state.size() + 1));
  if (!accept(proposal.log_weight(beta) + odds, rng)) return false;
  state.add(place, beta);
  return true;
}

bool death(TruncatedState& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  const int j = static_cast<int>(rng.index(state.size()));
  const CoefficientProposal proposal(prior, power * state.information(j));
  const double odds = std::log(state.size() / prior.nu);
  if (!accept(odds - proposal.log_weight(state.kernel(j).beta), rng)) {
    return false;
  }
  state.remove(j);
  return true;
}

// With a new coefficient; log_proposal is the ratio for the choice of place.
bool move_kernel(TruncatedState& state, int j,
                 const TruncatedState::Place& place, double log_proposal,
                 double power, Rng& rng) {
  const Prior& prior = state.prior();
  const CoefficientProposal from(prior, power * state.information(j));
  const CoefficientProposal to(prior, power * state.information(place, j));
  const double beta = to.draw(rng);
  const double log_ratio = to.log_weight(beta) -
                           from.log_weight(state.kernel(j).beta) +
                           log_proposal;
  if (!accept(log_ratio, rng)) return false;
  state.remove(j);
  state.add(place, beta);
  return true;
}

}  // namespace

bool birth_death_move(TruncatedState& state, double power, Rng& rng) {
  if (rng.uniform() < 0.5) return birth(state, power, rng);
  return death(state, power, rng);
}

bool relocate_move(TruncatedState& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const int to = static_cast<int>(rng.index(state.data().n() + 1));
  return move_kernel(state, j, state.make_place(to), 0, power, rng);
}

// As local_move() of a State: row i is chosen with probability proportional to
// K(x_i, c)^s.
bool local_move(TruncatedState& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const double sharpness = std::exp2(4 * rng.uniform());
  const int own = state.kernel(j).location - 1;
  if (own < 0) return false;
  Eigen::VectorXd weights;
  const double leaving =
      similarities(state.exponents(j), own, sharpness, weights);
  const int row = choose_weighted(weights, leaving, rng);
  if (row < 0) return false;
  const auto place = state.make_place(row + 1);
  const double back = similarities(place.exponents, row, sharpness, weights);
  return move_kernel(state, j, place, std::log(leaving / back), power, rng);
}

}  // namespace bark
}  // namespace kernelbayes
