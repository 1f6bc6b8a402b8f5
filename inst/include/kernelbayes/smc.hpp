#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "genealogy.hpp"
#include "parallel.hpp"
#include "resample.hpp"
#include "rng.hpp"
#include "smc_settings.hpp"

namespace kernelbayes {

/// Trans-dimensional sequential Monte Carlo (Vermaak, Godsill and Doucet,
/// 2003, section 2) for unnormalised targets gamma_0, gamma_1, ... on a union
/// of spaces. Step t is
///
///   1. if ESS < ess_threshold * N: resample;
///   2. move every particle by a kernel that leaves gamma_{t-1} invariant;
///   3. add datum t; extend every particle by a proposal q and multiply
///      its weight by W = gamma_t(x) q'(x' | x) / (gamma_{t-1}(x') q(x | x')),
///      where q' is any normalised reverse kernel.
///
/// Then Z_t = Z_{t-1} sum_i Wbar_i W_i estimates the normalising constant of
/// gamma_t without bias: (T3) of derivations/srvm.md, W being (T1). Nothing
/// after 3 changes a stored particle, so a run that is stopped and resumed
/// between steps equals an uninterrupted run.
///
/// Target must offer
///   using Particle = ...;              // copyable, with prefetch() const
///   using Scratch = ...;                       // per-thread work space
///   Scratch scratch() const;
///   void initialise(Particle&, Rng&) const;          // a draw from gamma_0
///   void move(Particle&, Rng&, Scratch&) const;      // step 2, at t - 1
///   void add_datum(int t, const Executor&);          // step 3, shared sums
///   double propose(Particle&, Rng&, Scratch&) const;       // step 3, log W
///   void after_step(int t, const std::vector<Particle>&,
///                   const std::vector<double>& weights);   // records
///   void after_rejuvenation(const std::vector<Particle>&,
///                           const std::vector<double>& weights);
///                                  // the same, for rejuvenate() only
/// where const methods may run at the same time on different particles.
///
/// A target from which data leave must also offer
///   bool drop_data(const Executor&);  // between 2 and 3: drops the oldest
///                                     // data; whether there were any
///   double drop(Particle&, Scratch&) const;  // log weight for the loss, as W
///   void data_dropped();                     // all particles have been
///   weighted
///
/// A target whose data may enter gradually has, instead of propose(),
///   using Arrival = ...;      // what a particle knows about the next increase
///   void score(Particle&, Rng&, Scratch&, Arrival&) const;
///   double log_potential(const Arrival&, double to) const;  // log W, or about
///   double power() const;     // of datum t: 0 when it has been taken in
///   void set_power(double to);    // for all particles
///   double propose(Particle&, const Arrival&, Rng&, Scratch&) const;
///                             // to the power that it was raised to: log W
/// and move() leaves the target at that power invariant. The proposal of
/// step 3 belongs to the first increase. An increase is as large as the
/// conditional effective sample size (Zhou, Johansen and Aston, 2016, section
/// 3.2.1) allows, (T4); between increases, steps 1 and 2 are repeated. With
/// powers that depend on the particles Z is consistent; with fixed powers it is
/// unbiased.
///
/// A target whose moves depend on where the particles are has
///   void adapt(const std::vector<Particle>&);   // before each step 2
/// Then Z is consistent.
///
/// The factor of the evidence at t is the predictive density of datum t only if
/// the prior is the same in both targets. A target may supply that density
/// separately:
///   double log_predictive(const Particle&) const;   // of the latest datum,
///                                 // given the particle before it was extended
template <typename Target>
class Smc {
  template <typename T, typename = void>
  struct DropsData : std::false_type {};
  template <typename T>
  struct DropsData<T, std::void_t<decltype(&T::drop)>> : std::true_type {};
  template <typename T, typename = void>
  struct Predicts : std::false_type {};
  template <typename T>
  struct Predicts<T, std::void_t<decltype(&T::log_predictive)>>
      : std::true_type {};
  template <typename T, typename = void>
  struct Adapts : std::false_type {};
  template <typename T>
  struct Adapts<T, std::void_t<decltype(&T::adapt)>> : std::true_type {};
  template <typename T, typename = void>
  struct Tempers : std::false_type {
    struct Arrival {};
  };
  template <typename T>
  struct Tempers<T, std::void_t<typename T::Arrival>> : std::true_type {
    using Arrival = typename T::Arrival;
  };

 public:
  using Particle = typename Target::Particle;
  using Scratch = typename Target::Scratch;

  Smc(SmcSettings settings, Target& target)
      : settings_(settings), target_(target) {
    const int n = settings_.particles;
    if (n < 1) throw std::invalid_argument("at least one particle is needed");
    particles_.resize(n);
    log_weights_.assign(n, 0.0);
    weights_.resize(n);
    normalise();
    genealogy_ = Genealogy(n);
    for (int i = 0; i < n; ++i) {
      Rng rng = stream(0, i, kStart);
      target_.initialise(particles_[i], rng);
    }
  }

  /// Takes in one datum.
  void step(const Executor& executor) {
    const int t = time_ + 1;
    resampled_ = t > 1 && resample_if_needed(t);
    if (t > 1 && !moves_on_the_way()) move(t, executor);
    double log_lost = 0;
    if constexpr (DropsData<Target>::value) log_lost = drop(executor);
    target_.add_datum(t, executor);
    time_ = t;
    lowest_ = static_cast<double>(particles_.size());
    increases_ = increase_ = 0;
    const double log_gained = weigh(executor);
    record(log_gained + log_lost, log_lost);
    increase_ = 0;
    target_.after_step(t, particles_, weights_);
  }

  /// Replaces the particles of step t by n of equal weight, each moved once by
  /// the kernel that leaves gamma_t invariant. The estimate of the evidence is
  /// kept and remains unbiased. The records of step t now refer to the new
  /// particles.
  void rejuvenate(int n, const Executor& executor) {
    check_rejuvenation(n);
    ++rejuvenations_;
    settings_.particles = n;
    if (n != static_cast<int>(particles_.size()) || !weights_are_equal()) {
      adopt_parents(resample(time_, n));
    }
    move(time_, executor);
    path_.ess.back() = effective_size(weights_);
    path_.founders.back() = genealogy_.founders();
    path_.particles.back() = n;
    target_.after_rejuvenation(particles_, weights_);
  }

  int time() const { return time_; }
  const std::vector<Particle>& particles() const { return particles_; }
  const std::vector<double>& weights() const { return weights_; }
  const SmcPath& path() const { return path_; }
  const Genealogy& genealogy() const { return genealogy_; }
  const std::vector<int>& ancestors() const { return ancestors_; }
  double log_evidence() const { return log_evidence_; }

  /// The relative variance of the estimated evidence, from this run alone.
  double relative_variance() const {
    return genealogy_.relative_variance(weights_);
  }

  /// The stream of particle i at step t for a purpose specific to the target.
  Rng output_stream(int i) const { return stream(time_ + 1, i, kOutput); }

  /// All that `restore()` needs apart from the target's own state.
  struct State {
    int time = 0;
    double log_evidence = 0;
    std::vector<double> log_weights;
    Genealogy::State genealogy;
    std::vector<int> ancestors;
    SmcPath path;
    int rejuvenations = 0;
  };

  State state() const {
    return {time_,      log_evidence_, log_weights_,  genealogy_.state(),
            ancestors_, path_,         rejuvenations_};
  }

  void restore(State state, std::vector<Particle> particles) {
    const std::size_t n = particles_.size();
    if (particles.size() != n || state.log_weights.size() != n ||
        state.genealogy.founders.size() != n) {
      throw std::invalid_argument(
          "the state has a different number of particles");
    }
    time_ = state.time;
    log_evidence_ = state.log_evidence;
    log_weights_ = std::move(state.log_weights);
    genealogy_.restore(std::move(state.genealogy));
    ancestors_ = std::move(state.ancestors);
    path_ = std::move(state.path);
    rejuvenations_ = state.rejuvenations;
    particles_ = std::move(particles);
    normalise();
  }

 private:
  enum Purpose : std::uint64_t {
    kStart,
    kMove,
    kExtend,
    kResample,
    kOutput,
    kScore
  };

  // Rejuvenating a step draws again, with new numbers; so does each increase of
  // a datum's power.
  Rng stream(int t, int i, Purpose purpose) const {
    return Rng(settings_.seed,
               static_cast<std::uint64_t>(t) * 8 + purpose +
                   (static_cast<std::uint64_t>(increase_) << 40),
               static_cast<std::uint64_t>(i) +
                   (static_cast<std::uint64_t>(rejuvenations_) << 32));
  }

  template <typename Body>
  void for_each(const Executor& executor, Body body) {
    executor(particles_.size(), [&](std::size_t begin, std::size_t end) {
      Scratch scratch = target_.scratch();
      for (std::size_t i = begin; i < end; ++i) {
        // Shared sums push the particles out of the cache between two passes.
        if (i + 1 < end) particles_[i + 1].prefetch();
        body(static_cast<int>(i), scratch);
      }
    });
  }

  static double effective_size(const std::vector<double>& weights) {
    double sum = 0;
    for (const double w : weights) sum += w * w;
    return 1 / sum;
  }

  bool resampling_is_due() const {
    return settings_.resample_every_step ||
           effective_size(weights_) <
               settings_.ess_threshold * settings_.particles;
  }

  bool resample_if_needed(int t) {
    const bool wanted = resampling_is_due();
    std::vector<int> ancestors;
    if (wanted) {
      ancestors = resample(t, settings_.particles);
    } else if (settings_.history != History::kSummary) {
      ancestors.resize(particles_.size());
      std::iota(ancestors.begin(), ancestors.end(), 0);
    }
    if (settings_.history != History::kSummary) {
      ancestors_.insert(ancestors_.end(), ancestors.begin(), ancestors.end());
    }
    return wanted;
  }

  // Takes datum t into account; returns the log of the factor of the evidence.
  double weigh(const Executor& executor) {
    if constexpr (Tempers<Target>::value) {
      double log_factor = 0;
      while (target_.power() < 1) {
        if (increases_ > 0) {
          if (resampling_is_due()) {
            resampled_ = true;
            adopt_parents(resample(time_, settings_.particles));
          }
          move(time_, executor);
        }
        log_factor += increase(executor);
        increase_ = ++increases_;
      }
      return log_factor;
    } else {
      increments_.resize(particles_.size());
      for_each(executor, [&](int i, Scratch& scratch) {
        Rng rng = stream(time_, i, kExtend);
        increments_[i] = target_.propose(particles_[i], rng, scratch);
      });
      increases_ = 1;
      if constexpr (Predicts<Target>::value) record_predictive();
      return reweight();
    }
  }

  double increase(const Executor& executor) {
    arrivals_.resize(particles_.size());
    increments_.resize(particles_.size());
    for_each(executor, [&](int i, Scratch& scratch) {
      Rng rng = stream(time_, i, kScore);
      target_.score(particles_[i], rng, scratch, arrivals_[i]);
    });
    target_.set_power(next_power());
    for_each(executor, [&](int i, Scratch& scratch) {
      Rng rng = stream(time_, i, kExtend);
      increments_[i] =
          target_.propose(particles_[i], arrivals_[i], rng, scratch);
    });
    if constexpr (Predicts<Target>::value) {
      if (increases_ == 0) record_predictive();
    }
    return reweight();
  }

  // If a datum enters gradually, particles are moved at the intermediate powers
  // and not before: with part of the datum they find what all of it will
  // require.
  bool moves_on_the_way() const {
    return Tempers<Target>::value && settings_.stops();
  }

  double next_stop(double power) const {
    for (const double next : settings_.powers) {
      if (next > power) return next;
    }
    return 1;
  }

  double next_power() {
    const double power = target_.power(), most = next_stop(power);
    double wanted = settings_.cess_threshold;
    if (wanted == 0) return most;
    const double whole = conditional_size(most);
    if (!(whole < wanted)) return most;
    // Only rare particles predict a datum that would take three or more
    // increases: it gets smaller ones, between which moves find other
    // particles.
    if (whole < wanted * wanted * wanted) wanted = std::cbrt(wanted);
    // On the log scale of the increase: the first may have to be tiny. None is
    // less than a fraction of the current power, so that they end.
    double lower = std::max(kLeastIncrease, power / 8), upper = most - power;
    if (lower >= upper) return most;
    // The cost of the change of the prior cannot be avoided.
    wanted *= conditional_size(power + lower);
    for (int i = 0; i < 30 && upper > 1.02 * lower; ++i) {
      const double middle = std::sqrt(lower * upper);
      (conditional_size(power + middle) < wanted ? upper : lower) = middle;
    }
    return power + lower;
  }

  // The conditional effective sample size of an increase, over N: (T4).
  double conditional_size(double to) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      increments_[i] = target_.log_potential(arrivals_[i], to);
      if (increments_[i] > largest) largest = increments_[i];
    }
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      const double u = std::exp(increments_[i] - largest);
      if (std::isnan(u)) continue;
      sum += weights_[i] * u;
      squares += weights_[i] * u * u;
    }
    return sum * sum / squares;
  }

  std::vector<int> resample(int t, int n) {
    Rng rng = stream(t, 0, kResample);
    const std::vector<int> ancestors =
        resampling::ancestors_in_place(settings_.resampling(weights_, n, rng));
    genealogy_.resample(ancestors, weights_,
                        settings_.resampling == resampling::multinomial);
    adopt(ancestors);
    return ancestors;
  }

  void move(int t, const Executor& executor) {
    if constexpr (Adapts<Target>::value) target_.adapt(particles_);
    for_each(executor, [&](int i, Scratch& scratch) {
      Rng rng = stream(t, i, kMove);
      target_.move(particles_[i], rng, scratch);
    });
  }

  void check_rejuvenation(int n) const {
    if (n < 1) throw std::invalid_argument("at least one particle is needed");
    if (time_ < 1) throw std::invalid_argument("no step has been taken yet");
    if (settings_.history != History::kSummary &&
        n != static_cast<int>(particles_.size())) {
      throw std::invalid_argument(
          "the number of particles is fixed if their ancestry is kept");
    }
  }

  bool weights_are_equal() const {
    return std::all_of(log_weights_.begin(), log_weights_.end(),
                       [&](double w) { return w == log_weights_[0]; });
  }

  // Particles of step t that descend from others of that step have parents in
  // step t - 1.
  void adopt_parents(const std::vector<int>& ancestors) {
    if (settings_.history == History::kSummary || time_ < 2) return;
    const auto last = ancestors_.end() - ancestors.size();
    const std::vector<int> parents(last, ancestors_.end());
    for (std::size_t i = 0; i < ancestors.size(); ++i) {
      last[i] = parents[ancestors[i]];
    }
  }

  // Survivors stay where they are, so copies never read a changed particle.
  void adopt(const std::vector<int>& ancestors) {
    const std::size_t n = ancestors.size();
    if (n > particles_.size()) particles_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = ancestors[i];
      if (from == i) continue;
      particles_[i] = particles_[from];
    }
    particles_.resize(n);
    log_weights_.assign(n, 0.0);
    weights_.resize(n);
    normalise();
  }

  // Removes old data; returns the log of the factor by which the evidence
  // changes.
  double drop(const Executor& executor) {
    if (!target_.drop_data(executor)) return 0;
    increments_.resize(particles_.size());
    for_each(executor, [&](int i, Scratch& scratch) {
      increments_[i] = target_.drop(particles_[i], scratch);
    });
    target_.data_dropped();
    return reweight();
  }

  // Multiplies the weights by the increments; returns the log of their mean,
  // (T3).
  double reweight() {
    for (std::size_t i = 0; i < increments_.size(); ++i) {
      log_weights_[i] += increments_[i];
    }
    const double before = log_total_;
    normalise();
    const double log_increment = log_total_ - before;
    if (!std::isfinite(log_increment)) fail();
    lowest_ = std::min(lowest_, effective_size(weights_));
    log_evidence_ += log_increment;
    return log_increment;
  }

  // The mean of the particles' densities, with the previous weights.
  void record_predictive() {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const Particle& particle : particles_) {
      const double value = target_.log_predictive(particle);
      if (value > largest) largest = value;
    }
    for (std::size_t i = 0; i < particles_.size(); ++i) {
      const double value = target_.log_predictive(particles_[i]);
      if (!std::isnan(value)) sum += weights_[i] * std::exp(value - largest);
    }
    path_.log_predictive.push_back(largest + std::log(sum));
  }

  void record(double log_increment, double log_lost) {
    path_.log_increment.push_back(log_increment);
    if constexpr (DropsData<Target>::value) path_.log_lost.push_back(log_lost);
    path_.ess.push_back(effective_size(weights_));
    path_.ess_lowest.push_back(lowest_);
    path_.increases.push_back(increases_);
    path_.resampled.push_back(resampled_);
    path_.founders.push_back(genealogy_.founders());
    path_.particles.push_back(settings_.particles);
  }

  [[noreturn]] void fail() const {
    throw std::runtime_error("no particle has a finite, positive weight at " +
                             std::string("step ") + std::to_string(time_));
  }

  void normalise() {
    const double largest =
        *std::max_element(log_weights_.begin(), log_weights_.end());
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      sum += weights_[i] = std::exp(log_weights_[i] - largest);
    }
    for (double& w : weights_) w /= sum;
    log_total_ = largest + std::log(sum);
  }

  static constexpr double kLeastIncrease = 1e-5;

  SmcSettings settings_;
  Target& target_;
  int time_ = 0;
  int rejuvenations_ = 0;
  bool resampled_ = false;  // during or before the latest datum
  int increases_ = 0;       // of the latest datum's power
  int increase_ = 0;        // the current one; 0 between steps
  double lowest_ = 0;       // effective size while it entered
  double log_evidence_ = 0;
  double log_total_ = 0;  // log of the sum of the weights in log_weights_
  std::vector<Particle> particles_;
  std::vector<double> log_weights_, weights_, increments_;
  std::vector<typename Tempers<Target>::Arrival> arrivals_;
  Genealogy genealogy_;
  std::vector<int> ancestors_;
  SmcPath path_;
};

}  // namespace kernelbayes
