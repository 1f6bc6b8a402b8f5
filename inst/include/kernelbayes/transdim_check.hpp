#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "transdim.hpp"

namespace kernelbayes {

/// One line of `check_moves()`: what was checked for which move at step t, the
/// error, and at which of the listed states it is largest.
struct MoveFinding {
  std::string move, check;
  int t;
  double error;
  std::size_t state;
  bool ok;
};

/// Are the weights exact? For a model so small that all states of a step can be
/// listed; `states(t)` lists them, t = 0 included (states of density zero may
/// be left out if no move leads to them). Like `check_moves()` in R, it checks
/// the formula of transdim_law.hpp for t = 1, ..., steps:
///
///   reverse_probability  sum_i alpha'_i(S) = 1
///   log_forward          sum_S q_i(S | S') = 1
///   log_reverse          sum_S' q'_i(S' | S) = 1
///   support              sum_S' q'_i(S' | S) [no way from S' to S] = 0
///   log_increment        is the difference of log_density(), if both are there
///   identity             (T2): the sum over i and S' of
///                        gamma_{t-1}(S') alpha_i(S') q_i(S | S') W
///                        = gamma_t(S)
///   weight               the sum over S' alone = gamma_t(S) alpha'_i(S)
///   propose              each of `draws` draws from each S' is a state to
///                        which log_forward() leads, and they are as frequent
///                        as it says
///   initial              gamma_0 sums to 1
///
/// (Every run throws an exception unless the alpha_i(S') sum to 1.) The
/// identity makes the weights exact; if it holds, other shares of the moves
/// (`weight`) are no fault, and if not, they show which move is wrong. Errors
/// above 1e-8 are faults; the error of the identity is relative to gamma_t(S),
/// or to the largest gamma_t if gamma_t(S) = 0. For `propose` the error is that
/// of a frequency. Under the null the draws of a state are binomial with
/// probability p; a frequency f has, by Chernoff, a p-value of at most 2 exp(-n
/// KL(f, p)), (T9), which is multiplied by the number of pairs of states of the
/// step: below 1e-6 it is a fault. This compares states by ==, and is skipped
/// for `draws` = 0.
///
/// log_forward() and log_reverse() are called with all pairs of states and must
/// return -infinity for pairs that the move cannot connect. The model needs
/// log_density().
template <typename Model, typename... Moves>
class MoveCheck {
 public:
  using Target = TransdimTarget<Model, Moves...>;
  using State = typename Target::State;

  explicit MoveCheck(Model model, Moves... moves)
      : target_(std::move(model), std::move(moves)...) {}

  template <typename States>
  std::vector<MoveFinding> run(States states, int steps, int draws) {
    for (int t = 1; t <= steps; ++t) {
      target_.add_datum(t, serial_executor());
      step(states(t - 1), states(t), t, draws);
    }
    return std::move(found_);
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  static constexpr double kTolerance = 1e-8;
  static constexpr double kLevel = 1e-6;
  using Numbers = std::vector<double>;

  // A listed state and its log gamma.
  struct Listed {
    std::vector<State> states;
    Numbers log_gamma;
    double largest = kNone;
    std::size_t size() const { return states.size(); }
    bool live(std::size_t i) const { return log_gamma[i] > kNone; }
  };

  Listed list(std::vector<State> states, int t) const {
    Listed out{std::move(states), {}};
    for (const State& state : out.states) {
      out.log_gamma.push_back(target_.log_density(state, t));
      out.largest = std::max(out.largest, out.log_gamma.back());
    }
    return out;
  }

  void step(std::vector<State> before, std::vector<State> now, int t,
            int draws) {
    t_ = t;
    draws_ = draws;
    from_ = list(std::move(before), t - 1);
    to_ = list(std::move(now), t);
    if (t == 1) check_initial();
    Numbers alpha(from_.size() * Target::kMoves, 0.0);
    for (std::size_t a = 0; a < from_.size(); ++a) {
      // Particles are where the previous target has a density.
      if (!from_.live(a)) continue;
      const auto row = target_.probabilities(from_.states[a], t);
      std::copy(row.begin(), row.end(), alpha.begin() + a * Target::kMoves);
    }
    reached_.assign(to_.size(), 0.0);
    Numbers back(to_.size(), 0.0);
    std::size_t i = 0;
    target_.each_move([&](const auto& move) {
      Numbers own(from_.size());
      for (std::size_t a = 0; a < own.size(); ++a) {
        own[a] = alpha[a * Target::kMoves + i];
      }
      check_move(move, target_.move_name(i++), own, back);
    });
    if constexpr ((transdim::gives_reverse<Moves> && ...)) {
      report_targets("(all moves)", "reverse_probability", back, 1);
    }
    report_targets("(all moves)", "identity", reached_, 1);
    if (found_.back().ok) excuse_shares();
  }

  void excuse_shares() {
    for (MoveFinding& f : found_) f.ok |= f.t == t_ && f.check == "weight";
  }

  void check_initial() {
    double sum = 0;
    for (const double g : from_.log_gamma) sum += std::exp(g);
    report("(model)", "initial", {sum}, {true}, 1);
  }

  // Sums for one move over the states at its other end.
  struct Sums {
    Sums(std::size_t n, std::size_t m)
        : possible(n),
          undone(m),
          forward(n),
          reverse(m),
          lost(m),
          chance(m),
          increment(m) {}
    std::vector<char> possible, undone;
    Numbers forward, reverse, lost, chance, increment;
  };

  template <typename Move>
  void check_move(const Move& move, const std::string& name,
                  const Numbers& alpha, Numbers& back) {
    const std::size_t n = from_.size(), m = to_.size();
    const Numbers others = reached_;
    Sums sums(n, m);
    for (std::size_t b = 0; b < m; ++b) {
      if (!transdim::gives_reverse<Move> || !to_.live(b)) continue;
      sums.chance[b] = target_.reverse_probability(move, to_.states[b], t_);
      sums.undone[b] = sums.chance[b] > 0;
      back[b] += sums.chance[b];
    }
    for (std::size_t a = 0; a < n; ++a) {
      sums.possible[a] = alpha[a] > 0;
      Numbers row(m, 0.0);
      for (std::size_t b = 0; b < m; ++b) {
        if (alpha[a] > 0) row[b] = density_forward(move, a, b);
        sums.forward[a] += row[b];
        if (sums.undone[b]) {
          const double r = density_reverse(move, a, b);
          sums.reverse[b] += r;
          if (row[b] == 0) sums.lost[b] += r;
        }
        if (row[b] > 0) bring(move, alpha[a], row[b], a, b, sums.increment);
      }
      if (alpha[a] > 0 && draws_ > 0) check_draws(move, name, a, row);
    }
    report_move<Move>(name, sums, others);
  }

  template <typename Move>
  void report_move(const std::string& name, const Sums& sums,
                   const Numbers& others) {
    report(name, "log_forward", sums.forward, sums.possible, 1);
    if constexpr (transdim::has_log_reverse<Move>) {
      report(name, "log_reverse", sums.reverse, sums.undone, 1);
      report(name, "support", sums.lost, sums.undone, 0);
    }
    if constexpr (transdim::has_log_increment<Model>) {
      report_targets(name, "log_increment", sums.increment, 0);
    }
    for (std::size_t b = 0; transdim::gives_reverse<Move> && b < to_.size();
         ++b) {
      const double share = reached_[b] - others[b];
      report_one(name, "weight", std::abs(share - sums.chance[b]), b);
    }
  }

  template <typename Move>
  double density_forward(const Move& move, std::size_t a, std::size_t b) const {
    return std::exp(move.log_forward(to_.states[b], from_.states[a], t_));
  }

  template <typename Move>
  double density_reverse(const Move& move, std::size_t a, std::size_t b) const {
    if constexpr (transdim::has_log_reverse<Move>) {
      return std::exp(move.log_reverse(from_.states[a], to_.states[b], t_));
    }
    return 0;
  }

  // Adds to `reached_` the contribution of a move from state a to state b, as a
  // fraction of gamma_t(b).
  template <typename Move>
  void bring(const Move& move, double alpha, double q, std::size_t a,
             std::size_t b, Numbers& increment) {
    const State &before = from_.states[a], &now = to_.states[b];
    const double difference = to_.log_gamma[b] - from_.log_gamma[a];
    const double ratio = log_ratio(now, before, difference);
    const double log_w =
        target_.log_weight(move, alpha, now, before, t_, [&] { return ratio; });
    const double unit = to_.live(b) ? to_.log_gamma[b] : to_.largest;
    reached_[b] += alpha * q * std::exp(from_.log_gamma[a] + log_w - unit);
    if (ratio != difference) {
      increment[b] = std::max(increment[b], std::abs(ratio - difference));
    }
  }

  double log_ratio(const State& now, const State& before,
                   double difference) const {
    if constexpr (transdim::has_log_increment<Model>) {
      return target_.log_increment(now, before, t_);
    }
    return difference;
  }

  template <typename Move>
  void check_draws(const Move& move, const std::string& name, std::size_t a,
                   const Numbers& prob) {
    Rng rng(a, static_cast<std::uint64_t>(t_), draws_);
    std::vector<int> count(to_.size() + 1, 0);  // the last: not a listed state
    for (int r = 0; r < draws_; ++r) {
      State state = from_.states[a];
      move.propose(state, t_, rng);
      const auto& all = to_.states;
      const auto found = std::find(all.begin(), all.end(), state);
      ++count[found - all.begin()];
    }
    const double pairs = static_cast<double>(from_.size()) * to_.size();
    for (std::size_t b = 0; b < count.size(); ++b) {
      const double p = b < prob.size() ? std::min(prob[b], 1.0) : 0;
      const double f = static_cast<double>(count[b]) / draws_;
      const double bound = 2 * std::exp(-draws_ * divergence(f, p));
      note({name, "propose", t_, std::abs(f - p), b, bound * pairs >= kLevel});
    }
  }

  // Kullback-Leibler divergence of Bernoulli(f) from Bernoulli(p).
  static double divergence(double f, double p) {
    const auto part = [](double a, double b) {
      return a > 0 ? a * std::log(a / b) : 0;
    };
    return part(f, p) + part(1 - f, 1 - p);
  }

  void report_targets(const std::string& move, const std::string& check,
                      const Numbers& is, double should_be) {
    for (std::size_t b = 0; b < is.size(); ++b) {
      const double right = to_.live(b) ? should_be : 0;
      report_one(move, check, std::abs(is[b] - right), b);
    }
  }

  void report(const std::string& move, const std::string& check,
              const Numbers& is, const std::vector<char>& where,
              double should_be) {
    for (std::size_t i = 0; i < is.size(); ++i) {
      if (where[i]) report_one(move, check, std::abs(is[i] - should_be), i);
    }
  }

  void report_one(const std::string& move, const std::string& check,
                  double error, std::size_t state) {
    note({move, check, t_, error, state, error <= kTolerance});
  }

  // One line per move, check and step: that of the worst state.
  void note(const MoveFinding& finding) {
    for (MoveFinding& old : found_) {
      if (old.t != finding.t || old.move != finding.move ||
          old.check != finding.check) {
        continue;
      }
      const bool worse =
          old.ok == finding.ok ? !(finding.error <= old.error) : old.ok;
      if (worse) old = finding;
      return;
    }
    found_.push_back(finding);
  }

  Target target_;
  int t_ = 0, draws_ = 0;
  Listed from_, to_;
  Numbers reached_;
  std::vector<MoveFinding> found_;
};

template <typename States, typename Model, typename... Moves>
std::vector<MoveFinding> check_moves(States states, int steps, int draws,
                                     Model model, Moves... moves) {
  return MoveCheck<Model, Moves...>(std::move(model), std::move(moves)...)
      .run(states, steps, draws);
}

/// Is there no fault?
inline bool moves_are_exact(const std::vector<MoveFinding>& found) {
  return std::all_of(found.begin(), found.end(),
                     [](const MoveFinding& f) { return f.ok; });
}

}  // namespace kernelbayes
