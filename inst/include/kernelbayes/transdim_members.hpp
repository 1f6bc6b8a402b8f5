#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "prefetch.hpp"
#include "rng.hpp"

namespace kernelbayes {

/// A state with what the sampler must know about it.
template <typename State>
struct TransdimParticle {
  State state;
  double log_density = 0;  // log gamma_t(state); NaN if not yet known
  int move = 0;            // by which it got here
  bool alive = true;       // is its weight above zero?

  void prefetch() const;
};

/// Which members models and moves have, and whether they can be called.
namespace transdim {

template <template <typename...> class Call, typename Void, typename... Args>
struct Detected : std::false_type {};
template <template <typename...> class Call, typename... Args>
struct Detected<Call, std::void_t<Call<Args...>>, Args...> : std::true_type {};

template <template <typename...> class Call, typename... Args>
inline constexpr bool can = Detected<Call, void, Args...>::value;

// Is there a member with this name, callable or not? (A name that is also
// inherited from elsewhere is ambiguous.) A member with a wrong signature is
// thus an error, and is not mistaken for a missing one.
#define KERNELBAYES_MEMBER(name)                                \
  struct Other_##name {                                         \
    int name;                                                   \
  };                                                            \
  template <typename T, bool kFinal>                            \
  struct Both_##name : T, Other_##name {};                      \
  template <typename T>                                         \
  struct Both_##name<T, true> : Other_##name {};                \
  template <typename T>                                         \
  using Free_##name =                                           \
      decltype(&Both_##name<T, std::is_final<T>::value>::name); \
  template <typename T>                                         \
  inline constexpr bool has_##name = !can<Free_##name, T>;

KERNELBAYES_MEMBER(log_density)
KERNELBAYES_MEMBER(log_increment)
KERNELBAYES_MEMBER(rejuvenate)
KERNELBAYES_MEMBER(add_datum)
KERNELBAYES_MEMBER(after_step)
KERNELBAYES_MEMBER(log_reverse)
KERNELBAYES_MEMBER(probability)
KERNELBAYES_MEMBER(reverse_probability)
KERNELBAYES_MEMBER(log_weight)
#undef KERNELBAYES_MEMBER

template <typename T>
const T& of();  // a value to call something with, as std::declval
template <typename T>
T& at();

template <typename M, typename S>
using Initial = std::enable_if_t<
    std::is_convertible<decltype(of<M>().initial(at<Rng>())), S>::value>;
template <typename M, typename S>
using LogDensity = decltype(double(of<M>().log_density(of<S>(), 1)));
template <typename M, typename S>
using LogIncrement =
    decltype(double(of<M>().log_increment(of<S>(), of<S>(), 1)));
template <typename M, typename S>
using Rejuvenated = decltype(of<M>().rejuvenate(at<S>(), 1, at<Rng>()));
template <typename M, typename S>
using Rejuvenate =
    std::enable_if_t<std::is_void<Rejuvenated<M, S>>::value ||
                     std::is_same<Rejuvenated<M, S>, double>::value>;
template <typename M>
using AddDatum = decltype(at<M>().add_datum(1, of<Executor>()));
template <typename M, typename S>
using AfterStep = decltype(at<M>().after_step(
    1, of<std::vector<TransdimParticle<S>>>(), of<std::vector<double>>()));

template <typename M, typename S>
using Propose = std::enable_if_t<
    std::is_void<decltype(of<M>().propose(at<S>(), 1, at<Rng>()))>::value>;
template <typename M, typename S>
using LogForward = decltype(double(of<M>().log_forward(of<S>(), of<S>(), 1)));
template <typename M, typename S>
using LogReverse = decltype(double(of<M>().log_reverse(of<S>(), of<S>(), 1)));
template <typename M, typename S>
using Probability = decltype(double(of<M>().probability(of<S>(), 1)));
template <typename M, typename S>
using ReverseProbability =
    decltype(double(of<M>().reverse_probability(of<S>(), 1)));
template <typename M, typename S>
using LogWeight = decltype(double(of<M>().log_weight(of<S>(), of<S>(), 1)));
template <typename M>
using Name = decltype(std::string(M::name));

template <typename S>
using Prefetch = decltype(of<S>().prefetch());
template <typename S>
using Contiguous =
    decltype(kernelbayes::prefetch(of<S>().data(), of<S>().size()));

/// Its alpha' is 1 if missing, unless weights are given as formulas.
template <typename Move>
inline constexpr bool gives_reverse =
    has_reverse_probability<Move> || !has_log_weight<Move>;

/// Rejects a model that cannot be run, with a message.
template <typename M, typename S>
constexpr bool check_model() {
  static_assert(!std::is_final<M>::value, "a model must not be final");
  static_assert(std::is_default_constructible<S>::value &&
                    std::is_copy_assignable<S>::value,
                "a State must be default constructible and copyable");
  static_assert(can<Initial, M, S>,
                "a model needs:  State initial(Rng& rng) const");
  static_assert(has_log_density<M> || has_log_increment<M>,
                "a model needs log_density() or log_increment()");
  static_assert(!has_log_density<M> || can<LogDensity, M, S>,
                "must be:  double log_density(const State& state, int t) "
                "const");
  static_assert(!has_log_increment<M> || can<LogIncrement, M, S>,
                "must be:  double log_increment(const State& now, const "
                "State& before, int t) const");
  static_assert(!has_rejuvenate<M> || can<Rejuvenate, M, S>,
                "must be:  void rejuvenate(State& state, int t, Rng& rng) "
                "const, or return the double log gamma_t of the new state");
  static_assert(!has_add_datum<M> || can<AddDatum, M>,
                "must be:  void add_datum(int t, const Executor& executor)");
  static_assert(!has_after_step<M> || can<AfterStep, M, S>,
                "must be:  void after_step(int t, const std::vector<"
                "TransdimParticle<State>>& particles, const std::vector<"
                "double>& weights)");
  return true;
}

/// Rejects a move that cannot be made, with a message.
template <typename M, typename S>
constexpr bool check_move() {
  static_assert(!std::is_final<M>::value, "a move must not be final");
  static_assert(can<Propose, M, S>,
                "a move needs:  void propose(State& state, int t, Rng& rng) "
                "const, which modifies the state in place");
  static_assert(can<LogForward, M, S>,
                "a move needs:  double log_forward(const State& now, const "
                "State& before, int t) const");
  static_assert(has_log_weight<M> || has_log_reverse<M>,
                "a move needs log_reverse() or log_weight()");
  static_assert(!has_log_reverse<M> || can<LogReverse, M, S>,
                "must be:  double log_reverse(const State& before, const "
                "State& now, int t) const");
  static_assert(!has_log_weight<M> || can<LogWeight, M, S>,
                "must be:  double log_weight(const State& now, const State& "
                "before, int t) const");
  static_assert(!has_probability<M> || can<Probability, M, S>,
                "must be:  double probability(const State& before, int t) "
                "const");
  static_assert(!has_reverse_probability<M> || can<ReverseProbability, M, S>,
                "must be:  double reverse_probability(const State& now, int "
                "t) const");
  return true;
}

/// With a choice of moves, each must give its probability.
template <typename... Moves>
constexpr bool check_choice() {
  static_assert(sizeof...(Moves) > 0, "at least one move is needed");
  static_assert(sizeof...(Moves) == 1 || (has_probability<Moves> && ...),
                "with several moves each needs probability()");
  static_assert(sizeof...(Moves) == 1 || ((has_reverse_probability<Moves> ||
                                           has_log_weight<Moves>)&&...),
                "with several moves each needs reverse_probability(), or a "
                "log_weight()");
  return true;
}

}  // namespace transdim

template <typename State>
void TransdimParticle<State>::prefetch() const {
  if constexpr (transdim::can<transdim::Prefetch, State>) {
    state.prefetch();
  } else if constexpr (transdim::can<transdim::Contiguous, State>) {
    kernelbayes::prefetch(state.data(), state.size());
  }
}

}  // namespace kernelbayes
