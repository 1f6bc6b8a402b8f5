#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/bark/coefficients/open.hpp"
#include "core/bark/moves/moves.hpp"
#include "core/bark/state/state.hpp"

namespace bark_r {

template <typename State>
using Move = std::function<void(State&, double power, kernelbayes::Rng&)>;

template <typename State>
using Moves = std::map<std::string, Move<State>>;

/// The moves of one kind of state, and the moves of inclusion and scales that
/// all kinds have; steps have a fixed size.
template <typename State>
Moves<State> with_scale_moves(Moves<State> moves) {
  using kernelbayes::Rng;
  namespace bark = kernelbayes::bark;
  moves.insert(
      {{"scale_all",
        [](State& s, double t, Rng& r) { bark::scale_all_move(s, t, 0.8, r); }},
       {"scale_one",
        [](State& s, double t, Rng& r) {
          if (!s.prior().equal() && s.n_included() > 0) {
            bark::scale_one_move(s, choose_included(s, r), t, 1.2, r);
          }
        }},
       {"scale_refresh", bark::scale_refresh_move<State>},
       {"scale_pair", bark::scale_pair_move<State>},
       {"flip", bark::flip_move<State>},
       {"swap", bark::swap_move<State>}});
  return moves;
}

/// So few rows that moves of a Backfit look at some of five before all, and
/// choose among some.
constexpr kernelbayes::bark::Glance kGlance{2, 1, 2};

/// All moves of a state whose coefficients are integrated out.
const Moves<kernelbayes::bark::State>& moves();

/// Moves of classes with the coefficients in the state, latent responses
/// integrated out; some of them hold varphi.
using OpenMove =
    std::function<void(kernelbayes::bark::OpenState&, kernelbayes::Rng&)>;
const std::map<std::string, OpenMove>& open_moves();

}  // namespace bark_r
