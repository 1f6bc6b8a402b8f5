#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "smc.hpp"
#include "transdim_law.hpp"
#include "transdim_members.hpp"

namespace kernelbayes {

/// Trans-dimensional sequential Monte Carlo for your own model and moves: the
/// C++ form of `tdsmc()`, `td_target()` and `td_move()` in R, with the same
/// names. Models and moves are small structs; `Smc` provides the loop,
/// resampling, weights, evidence, ancestry, random streams and threads, and the
/// weights follow from the formula in transdim_law.hpp, (T1).
///
/// A model has
///
///   using State = ...;  // default constructible, copyable
///
///   // A draw from gamma_0.
///   State initial(Rng& rng) const;
///
///   // log gamma_t(state); normalised for t = 0.
///   double log_density(const State& state, int t) const;
///
///   // Instead of it or in addition, if that is cheaper:
///   // log gamma_t(now) / gamma_{t-1}(before).
///   double log_increment(const State& now, const State& before, int t) const;
///
///   // Optional: a Markov step that leaves gamma_t invariant. May return
///   // log gamma_t of the new state (a double) if it knows it.
///   void rejuvenate(State& state, int t, Rng& rng) const;
///
///   // Optional: takes in the data of step t, for sums that states share.
///   void add_datum(int t, const Executor& executor);
///
///   // Optional: for records.
///   void after_step(int t,
///                   const std::vector<TransdimParticle<State>>& particles,
///                   const std::vector<double>& weights);
///
/// and a move
///
///   // From a state of t - 1 to one of t, in place.
///   void propose(State& state, int t, Rng& rng) const;
///
///   // log q(now | before) and log q'(before | now).
///   double log_forward(const State& now, const State& before, int t) const;
///   double log_reverse(const State& before, const State& now, int t) const;
///
///   // alpha and alpha'; 1 if missing, which is allowed for a single move.
///   double probability(const State& before, int t) const;
///   double reverse_probability(const State& now, int t) const;
///
///   // Instead of log_reverse() and reverse_probability(): log W itself.
///   double log_weight(const State& now, const State& before, int t) const;
///
///   // Optional: for messages.
///   static constexpr const char* name = "...";
///
/// All densities of a step are with respect to the targets' reference measures:
/// a move that maps (before, u) to `now` has the log density of u minus the log
/// of the absolute Jacobian determinant. Data and parameters are members of the
/// structs. Const members may run at the same time for different particles
/// (std::lgamma() writes to a global variable in some C libraries and should
/// then be tabulated). Only log_density() is called with states of density
/// zero. `check_moves()` in transdim_check.hpp tests whether the weights are
/// exact, and `simulate_moves()` in transdim_simulate.hpp if states cannot be
/// listed. `Jumps` in transdim_jumps.hpp makes rejuvenate() of moves.
template <typename Model, typename... Moves>
class TransdimTarget {
 public:
  using State = typename Model::State;
  using Particle = TransdimParticle<State>;
  struct Scratch {
    State before;
  };
  static constexpr std::size_t kMoves = sizeof...(Moves);
  static_assert(transdim::check_model<Model, State>());
  static_assert(transdim::check_choice<Moves...>());
  static_assert((transdim::check_move<Moves, State>() && ...));

  explicit TransdimTarget(Model model, Moves... moves)
      : model_(std::move(model)), moves_(std::move(moves)...) {}

  const Model& model() const { return model_; }
  const std::tuple<Moves...>& moves() const { return moves_; }
  int time() const { return time_; }

  /// How often each move was chosen, and the weight of the resulting particles:
  /// kMoves numbers per step.
  struct Path {
    std::vector<int> chosen;
    std::vector<double> share;
  };
  const Path& path() const { return path_; }

  // Required by Smc -----------------------------------------------------------

  Scratch scratch() const { return {}; }

  void initialise(Particle& particle, Rng& rng) const {
    particle = Particle();
    particle.state = model_.initial(rng);
    particle.log_density = kUnknown;
  }

  void move(Particle& particle, Rng& rng, Scratch&) const {
    if constexpr (transdim::has_rejuvenate<Model>) {
      if (!particle.alive) return;
      if constexpr (std::is_void_v<transdim::Rejuvenated<Model, State>>) {
        model_.rejuvenate(particle.state, time_, rng);
        particle.log_density = kUnknown;
      } else {
        particle.log_density = model_.rejuvenate(particle.state, time_, rng);
      }
    }
  }

  void add_datum(int t, const Executor& executor) {
    time_ = t;
    if constexpr (transdim::has_add_datum<Model>) model_.add_datum(t, executor);
  }

  double propose(Particle& particle, Rng& rng, Scratch& scratch) const {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    if (!particle.alive) return kNone;
    const auto alpha = probabilities(particle.state, time_);
    particle.move = choose(alpha, rng.uniform());
    double log_weight = kNone;
    with_move(particle.move, [&](const auto& move) {
      log_weight =
          carry_out(move, alpha[particle.move], particle, rng, scratch);
    });
    particle.alive = log_weight > kNone;
    return log_weight;
  }

  void after_step(int t, const std::vector<Particle>& particles,
                  const std::vector<double>& weights) {
    const std::size_t first = path_.share.size();
    path_.chosen.resize(first + kMoves, 0);
    path_.share.resize(first + kMoves, 0.0);
    for (std::size_t i = 0; i < particles.size(); ++i) {
      ++path_.chosen[first + particles[i].move];
      path_.share[first + particles[i].move] += weights[i];
    }
    if constexpr (transdim::has_after_step<Model>) {
      model_.after_step(t, particles, weights);
    }
  }

  // Records refer to the original step.
  void after_rejuvenation(const std::vector<Particle>&,
                          const std::vector<double>&) {}

  /// Takes in the data of the first t steps again.
  void restore(int t, Path path, const Executor& executor) {
    for (int s = 1; s <= t; ++s) add_datum(s, executor);
    time_ = t;
    path_ = std::move(path);
  }

  // Parts of the weight formula -----------------------------------------------

  double log_density(const State& state, int t) const {
    static_assert(transdim::has_log_density<Model>,
                  "this needs log_density(); log_increment() is not enough");
    return valid_log<Model>(model_.log_density(state, t), "log_density", t);
  }

  double log_increment(const State& now, const State& before, int t) const {
    return valid_log<Model>(model_.log_increment(now, before, t),
                            "log_increment", t);
  }

  /// alpha_i(S') of all moves at step t.
  std::array<double, kMoves> probabilities(const State& before, int t) const {
    std::array<double, kMoves> alpha{};
    std::size_t i = 0;
    double sum = 0;
    each_move([&](const auto& move) {
      sum += alpha[i++] = probability(move, before, t);
    });
    if (!(std::abs(sum - 1) <= 1e-8)) {
      fail("the probabilities of the moves sum to " + std::to_string(sum), t);
    }
    return alpha;
  }

  template <typename Move>
  double reverse_probability(const Move& move, const State& now, int t) const {
    if constexpr (transdim::has_reverse_probability<Move>) {
      return valid_probability<Move>(move.reverse_probability(now, t),
                                     "reverse_probability", t);
    }
    return 1;
  }

  /// log W of a move that had probability `alpha`.
  /// @param log_ratio gives log gamma_t(now) / gamma_{t-1}(before) if needed.
  template <typename Move, typename LogRatio>
  double log_weight(const Move& move, double alpha, const State& now,
                    const State& before, int t, LogRatio log_ratio) const {
    if constexpr (transdim::has_log_weight<Move>) {
      return valid_log<Move>(move.log_weight(now, before, t), "log_weight", t);
    } else {
      constexpr double kNone = -std::numeric_limits<double>::infinity();
      const double ratio = log_ratio();
      if (ratio == kNone) return kNone;
      MoveChoice reverse{reverse_probability(move, now, t)};
      if (reverse.probability == 0) return kNone;
      reverse.log_density =
          valid_log<Move>(move.log_reverse(before, now, t), "log_reverse", t);
      const MoveChoice forward{alpha, move.log_forward(now, before, t)};
      if (!std::isfinite(forward.log_density)) {
        fail(member<Move>("log_forward") + " is not finite at a proposed state",
             t);
      }
      return log_general_weight(ratio, reverse, forward);
    }
  }

  template <typename Visit>
  void each_move(Visit visit) const {
    std::apply([&](const auto&... move) { (visit(move), ...); }, moves_);
  }

  /// Its name, or "move 1" and so on.
  std::string move_name(std::size_t which) const {
    std::string name = "move " + std::to_string(which + 1);
    with_move(static_cast<int>(which), [&](const auto& move) {
      using Move = std::decay_t<decltype(move)>;
      if constexpr (transdim::can<transdim::Name, Move>) name = Move::name;
    });
    return name;
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  // The compiler knows every move, so the choice is a jump and not a virtual
  // call.
  template <typename Visit>
  void with_move(int which, Visit visit) const {
    int i = 0;
    each_move([&](const auto& move) {
      if (i++ == which) visit(move);
    });
  }

  static int choose(const std::array<double, kMoves>& alpha, double u) {
    int last = 0;
    double upper = 0;
    for (std::size_t i = 0; i < kMoves; ++i) {
      if (!(alpha[i] > 0)) continue;
      last = static_cast<int>(i);
      if (u < (upper += alpha[i])) break;
    }
    return last;
  }

  template <typename Move>
  double carry_out(const Move& move, double alpha, Particle& particle, Rng& rng,
                   Scratch& scratch) const {
    scratch.before = particle.state;
    move.propose(particle.state, time_, rng);
    const double before = particle.log_density;
    particle.log_density = kUnknown;
    return log_weight(move, alpha, particle.state, scratch.before, time_, [&] {
      return log_ratio(particle, scratch.before, before);
    });
  }

  // log gamma_t(now) / gamma_{t-1}(before); the densities are kept from step to
  // step.
  double log_ratio(Particle& particle, const State& before,
                   double log_before) const {
    if constexpr (transdim::has_log_increment<Model>) {
      return log_increment(particle.state, before, time_);
    } else {
      if (std::isnan(log_before)) log_before = log_density(before, time_ - 1);
      if (!std::isfinite(log_before)) {
        fail(member<Model>("log_density") +
                 " is not finite at a state with positive weight",
             time_ - 1);
      }
      particle.log_density = log_density(particle.state, time_);
      return particle.log_density - log_before;
    }
  }

  template <typename Move>
  double probability(const Move& move, const State& before, int t) const {
    if constexpr (transdim::has_probability<Move>) {
      return valid_probability<Move>(move.probability(before, t), "probability",
                                     t);
    }
    return 1;
  }

  template <typename Owner>
  static double valid_log(double value, const char* of, int t) {
    if (!(value < std::numeric_limits<double>::infinity())) {
      fail(member<Owner>(of) + " is " + std::to_string(value), t);
    }
    return value;
  }

  template <typename Owner>
  static double valid_probability(double value, const char* of, int t) {
    if (!(value >= 0 && value <= 1)) {
      fail(member<Owner>(of) + " is " + std::to_string(value), t);
    }
    return value;
  }

  // A member's name in messages.
  template <typename Owner>
  static std::string member(const char* name) {
    const std::string call = std::string(name) + "()";
    if constexpr (std::is_same_v<Owner, Model>) {
      return call + " of the model";
    } else if constexpr (transdim::can<transdim::Name, Owner>) {
      return call + " of the move \"" + Owner::name + '"';
    } else {
      return call + " of a move";
    }
  }

  [[noreturn]] static void fail(const std::string& what, int t) {
    throw std::domain_error(what + ", at step " + std::to_string(t));
  }

  Model model_;
  std::tuple<Moves...> moves_;
  int time_ = 0;
  Path path_;
};

/// The results of a run. after_step() must store states of past steps.
template <typename State>
struct TransdimFit {
  std::vector<State> states;    // particles of weight zero hold the state in
  std::vector<double> weights;  // which they lost it; the weights sum to 1
  double log_evidence;          // log Z_t; the estimate of Z_t is unbiased
  double mc_se;                 // its standard error (Lee and Whiteley, 2018);
                                // NaN if unknown: one particle, or a negative
                                // estimate of the variance
  SmcPath path;                 // a number per step: increments, ESS...
  std::vector<int> chosen;      // how often moves were chosen, and the weight
  std::vector<double> share;    // of the results: a number per move and step
  std::vector<int> ancestors;   // N numbers per step from the second on,
                                // unless History is kSummary

  /// The expectation of f(state).
  template <typename F>
  double mean(F f) const {
    double sum = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (weights[i] > 0) sum += weights[i] * f(states[i]);
    }
    return sum;
  }
};

/// A run that can be stopped, saved and continued:
///
///   TransdimSampler sampler(settings, model, move, another);
///   sampler.advance(steps);
///   sampler.fit().log_evidence;
template <typename Model, typename... Moves>
class TransdimSampler {
 public:
  using Target = TransdimTarget<Model, Moves...>;
  using State = typename Target::State;

  explicit TransdimSampler(SmcSettings settings, Model model, Moves... moves)
      : target_(std::move(model), std::move(moves)...),
        smc_(settings, target_) {}
  TransdimSampler(const TransdimSampler&) = delete;
  TransdimSampler& operator=(const TransdimSampler&) = delete;

  void advance(int steps, const Executor& executor = serial_executor()) {
    for (int i = 0; i < steps; ++i) smc_.step(executor);
  }

  const Smc<Target>& smc() const { return smc_; }
  const Target& target() const { return target_; }

  TransdimFit<State> fit() const {
    TransdimFit<State> fit{{},
                           smc_.weights(),
                           smc_.log_evidence(),
                           standard_error(),
                           smc_.path(),
                           target_.path().chosen,
                           target_.path().share,
                           smc_.ancestors()};
    fit.states.reserve(fit.weights.size());
    for (const auto& p : smc_.particles()) fit.states.push_back(p.state);
    return fit;
  }

  /// All that another sampler, with the same settings, model and moves, needs
  /// to continue from here.
  struct RunState {
    typename Smc<Target>::State smc;
    std::vector<typename Target::Particle> particles;
    typename Target::Path path;
  };
  RunState run_state() const {
    return {smc_.state(), smc_.particles(), target_.path()};
  }
  void restore(RunState state, const Executor& executor = serial_executor()) {
    target_.restore(state.smc.time, std::move(state.path), executor);
    smc_.restore(std::move(state.smc), std::move(state.particles));
  }

 private:
  // Equal weights have a variance of zero, apart from rounding.
  double standard_error() const {
    const double variance = smc_.relative_variance();
    if (std::abs(variance) < 1e-14) return 0;
    return variance > 0 ? std::sqrt(variance)
                        : std::numeric_limits<double>::quiet_NaN();
  }

  Target target_;
  Smc<Target> smc_;
};

/// A complete run of `steps` steps, in one thread.
template <typename Model, typename... Moves>
TransdimFit<typename Model::State> tdsmc(SmcSettings settings, int steps,
                                         Model model, Moves... moves) {
  TransdimSampler<Model, Moves...> sampler(settings, std::move(model),
                                           std::move(moves)...);
  sampler.advance(steps);
  return sampler.fit();
}

}  // namespace kernelbayes
