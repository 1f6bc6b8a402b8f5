#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "rng.hpp"
#include "transdim_members.hpp"

namespace kernelbayes {

/// Reversible jump (Green, 1995) by moves, for `rejuvenate()` of a model: the
/// C++ form of `td_rejuvenate()` in R. A round: move i is chosen with
/// probability alpha_i(S), proposes S' ~ q_i(. | S), and is accepted with
/// probability
///
///   min(1, gamma(S') alpha_j(S') q_j(S | S') / [gamma(S) alpha_i(S) q_i(S' |
///       S)])                                                       (T10)
///
/// where j = undone_by[i] is the move that undoes i. The alphas may sum to less
/// than 1. Of a move, propose(), log_forward() and probability() are used, see
/// transdim.hpp, all at the step of the target; log_forward() must be -infinity
/// where a move does not lead back. In a model
///
///   Jumps<Birth, Death> jumps{{1, 0}, 5, Birth(), Death()};
///
///   double rejuvenate(State& state, int t, Rng& rng) const {
///     return jumps.move(*this, state, t, rng);
///   }
template <typename... Moves>
class Jumps {
 public:
  static constexpr std::size_t kMoves = sizeof...(Moves);

  /// @param undone_by For each move the position of that which undoes it.
  Jumps(std::array<int, kMoves> undone_by, int rounds, Moves... moves)
      : undone_by_(undone_by), rounds_(rounds), moves_(std::move(moves)...) {
    for (std::size_t i = 0; i < kMoves; ++i) {
      const int j = undone_by_[i];
      const bool known = j >= 0 && j < static_cast<int>(kMoves);
      if (!known || undone_by_[j] != static_cast<int>(i)) {
        throw std::invalid_argument(
            "undone_by must pair moves: undone_by[undone_by[i]] = i");
      }
    }
  }

  /// Moves a state; returns log gamma_t of the new one.
  template <typename Model, typename State>
  double move(const Model& model, State& state, int t, Rng& rng) const {
    double log_gamma = model.log_density(state, t);
    for (int round = 0; round < rounds_; ++round) {
      log_gamma = jump(model, state, log_gamma, t, rng);
    }
    return log_gamma;
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  template <typename Model, typename State>
  double jump(const Model& model, State& state, double log_gamma, int t,
              Rng& rng) const {
    const double u = rng.uniform();
    double upper = 0, alpha = 0;
    int chosen = -1, i = 0;
    each_move([&](const auto& move) {
      const double p = probability(move, state, t);
      if (chosen < 0 && u < (upper += p)) {
        chosen = i;
        alpha = p;
      }
      ++i;
    });
    if (chosen < 0) return log_gamma;
    State proposed = state;
    double forward = 0;
    with_move(chosen, [&](const auto& move) {
      move.propose(proposed, t, rng);
      forward = std::log(alpha) + move.log_forward(proposed, state, t);
    });
    const double log_new = model.log_density(proposed, t);
    if (log_new == kNone) return log_gamma;
    double back = kNone;
    with_move(undone_by_[chosen], [&](const auto& move) {
      const double p = probability(move, proposed, t);
      if (p > 0) back = std::log(p) + move.log_forward(state, proposed, t);
    });
    const double ratio = log_new - log_gamma + back - forward;
    if (std::isnan(ratio)) {
      throw std::domain_error("an acceptance ratio is not a number, at step " +
                              std::to_string(t));
    }
    if (!(std::log(rng.uniform()) < ratio)) return log_gamma;
    state = std::move(proposed);
    return log_new;
  }

  template <typename Move, typename State>
  static double probability(const Move& move, const State& state, int t) {
    if constexpr (transdim::has_probability<Move>) {
      return move.probability(state, t);
    }
    return 1;
  }

  template <typename Visit>
  void each_move(Visit visit) const {
    std::apply([&](const auto&... move) { (visit(move), ...); }, moves_);
  }

  template <typename Visit>
  void with_move(int which, Visit visit) const {
    int i = 0;
    each_move([&](const auto& move) {
      if (i++ == which) visit(move);
    });
  }

  std::array<int, kMoves> undone_by_;
  int rounds_;
  std::tuple<Moves...> moves_;
};

}  // namespace kernelbayes
