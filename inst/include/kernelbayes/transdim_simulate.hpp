#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "transdim_check.hpp"

namespace kernelbayes {

/// Are the weights exact? For a model whose states cannot be listed, because
/// they vary continuously: by simulation, like `check_moves()` in R without
/// `states`. Independent particles are drawn by initial() and extended, without
/// resampling, with weights w. At each step t = 1, ..., steps
///
///   reverse_probability  sum_i alpha'_i(S) = 1 at every particle
///   balance              for every two moves i and j the particles that i
///                        brought, weighted by w alpha'_j(S), and those that j
///                        brought, weighted by w alpha'_i(S), have the same
///                        sum, (T12)
///   rejuvenate           weighted by w, as many particles are in each part of
///                        the states before and after rejuvenate()
///
/// over all states and over those whose log gamma_t is above a quartile. (Every
/// run throws an exception unless the alpha_i(S') sum to 1.) Under the null the
/// two sums have the same mean; their difference is about normal, and its
/// two-sided p-value, times the number of comparisons of the step, is a fault
/// below 1e-6. `error` is the difference as a share of the total weight, and
/// `state` is the part, from 0: all states, or above which quartile. Steps at
/// which the effective number of particles is below 2% are not tested, nor is
/// gamma_0: `check_moves()` in R does so. The model needs log_density().
template <typename Model, typename... Moves>
class MoveSimulation {
 public:
  using Target = TransdimTarget<Model, Moves...>;
  using Particle = typename Target::Particle;

  explicit MoveSimulation(Model model, Moves... moves)
      : target_(std::move(model), std::move(moves)...) {}

  std::vector<MoveFinding> run(int particles, int steps, std::uint64_t seed) {
    start(particles, seed);
    for (t_ = 1; t_ <= steps && extend(seed); ++t_) {
      set_parts();
      check_reverse();
      balance();
      invariance(seed);
    }
    return std::move(found_);
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  static constexpr double kTolerance = 1e-8;
  static constexpr double kLevel = 1e-6;
  static constexpr double kFewest = 0.02;
  static constexpr std::size_t kParts = 4;
  using Numbers = std::vector<double>;

  static constexpr bool kAllReverse = (transdim::gives_reverse<Moves> && ...);

  std::size_t size() const { return particles_.size(); }

  void start(int particles, std::uint64_t seed) {
    particles_.resize(particles);
    log_weights_.assign(particles, 0.0);
    for (std::size_t i = 0; i < size(); ++i) {
      Rng rng(seed, 0, i);
      target_.initialise(particles_[i], rng);
    }
  }

  // Extends all particles; are there enough of them?
  bool extend(std::uint64_t seed) {
    target_.add_datum(t_, serial_executor());
    auto scratch = target_.scratch();
    for (std::size_t i = 0; i < size(); ++i) {
      Rng rng(seed, 2 * static_cast<std::uint64_t>(t_), i);
      log_weights_[i] += target_.propose(particles_[i], rng, scratch);
    }
    const double largest =
        *std::max_element(log_weights_.begin(), log_weights_.end());
    weights_.assign(size(), 0.0);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < size() && largest > kNone; ++i) {
      weights_[i] = std::exp(log_weights_[i] - largest);
      sum += weights_[i];
      squares += weights_[i] * weights_[i];
    }
    if (!(sum * sum >= kFewest * size() * squares)) return false;
    for (double& w : weights_) w *= size() / sum;
    return true;
  }

  // log gamma_t of the particles, and its quartiles.
  void set_parts() {
    log_gamma_.assign(size(), kNone);
    Numbers sorted;
    for (std::size_t i = 0; i < size(); ++i) {
      if (weights_[i] == 0) continue;
      log_gamma_[i] = target_.log_density(particles_[i].state, t_);
      sorted.push_back(log_gamma_[i]);
    }
    std::sort(sorted.begin(), sorted.end());
    cuts_ = {kNone};
    for (std::size_t q = 1; q < kParts; ++q) {
      cuts_.push_back(sorted[q * sorted.size() / kParts]);
    }
  }

  bool in_part(double log_gamma, std::size_t part) const {
    return part == 0 || log_gamma > cuts_[part];
  }

  void check_reverse() {
    if constexpr (kAllReverse) {
      reverse_.assign(Target::kMoves, Numbers(size(), 0.0));
      MoveFinding worst{"(all moves)", "reverse_probability", t_, 0, 0, true};
      for (std::size_t i = 0; i < size(); ++i) {
        if (weights_[i] == 0) continue;
        double sum = 0;
        std::size_t m = 0;
        target_.each_move([&](const auto& move) {
          sum += reverse_[m++][i] =
              target_.reverse_probability(move, particles_[i].state, t_);
        });
        if (!(std::abs(sum - 1) <= worst.error)) {
          worst.error = std::abs(sum - 1);
          worst.state = i;
        }
      }
      worst.ok = worst.error <= kTolerance;
      found_.push_back(worst);
    }
  }

  void balance() {
    if constexpr (kAllReverse && Target::kMoves > 1) {
      const std::size_t pairs = Target::kMoves * (Target::kMoves - 1) / 2;
      for (std::size_t a = 0; a < Target::kMoves; ++a) {
        for (std::size_t b = a + 1; b < Target::kMoves; ++b) {
          balance_of(static_cast<int>(a), static_cast<int>(b), pairs);
        }
      }
    }
  }

  void balance_of(int a, int b, std::size_t pairs) {
    Numbers difference(size(), 0.0);
    for (std::size_t i = 0; i < size(); ++i) {
      const int by = particles_[i].move;
      if (by == a) difference[i] = weights_[i] * reverse_[b][i];
      if (by == b) difference[i] = -weights_[i] * reverse_[a][i];
    }
    compare(target_.move_name(a) + " / " + target_.move_name(b), "balance",
            pairs * kParts, [&](std::size_t i, std::size_t part) {
              return in_part(log_gamma_[i], part) ? difference[i] : 0;
            });
  }

  void invariance(std::uint64_t seed) {
    if constexpr (transdim::has_rejuvenate<Model>) {
      Numbers after(size(), kNone);
      auto scratch = target_.scratch();
      for (std::size_t i = 0; i < size(); ++i) {
        if (weights_[i] == 0) continue;
        Particle moved = particles_[i];
        Rng rng(seed, 2 * static_cast<std::uint64_t>(t_) + 1, i);
        target_.move(moved, rng, scratch);
        after[i] = target_.log_density(moved.state, t_);
      }
      compare("(model)", "rejuvenate", kParts,
              [&](std::size_t i, std::size_t part) {
                return weights_[i] *
                       (in_part(after[i], part) - in_part(log_gamma_[i], part));
              });
    }
  }

  // Is the mean of difference(i, part) zero in all parts? The worst is noted.
  template <typename Difference>
  void compare(const std::string& move, const char* check,
               std::size_t comparisons, Difference difference) {
    MoveFinding worst{move, check, t_, 0, 0, true};
    double least = 2;
    const double n = static_cast<double>(size());
    for (std::size_t part = 0; part < kParts; ++part) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < size(); ++i) {
        const double d = difference(i, part);
        sum += d;
        squares += d * d;
      }
      const double mean = sum / n;
      const double variance = (squares / n - mean * mean) / (n - 1);
      if (!(variance > 0)) continue;
      const double p = std::erfc(std::abs(mean) / std::sqrt(2 * variance));
      if (p >= least) continue;
      least = p;
      worst.error = std::abs(mean);
      worst.state = part;
    }
    worst.ok = least * comparisons >= kLevel;
    found_.push_back(worst);
  }

  Target target_;
  int t_ = 0;
  std::vector<Particle> particles_;
  Numbers log_weights_, weights_, log_gamma_, cuts_;
  std::vector<Numbers> reverse_;
  std::vector<MoveFinding> found_;
};

template <typename Model, typename... Moves>
std::vector<MoveFinding> simulate_moves(int particles, int steps,
                                        std::uint64_t seed, Model model,
                                        Moves... moves) {
  return MoveSimulation<Model, Moves...>(std::move(model), std::move(moves)...)
      .run(particles, steps, seed);
}

}  // namespace kernelbayes
