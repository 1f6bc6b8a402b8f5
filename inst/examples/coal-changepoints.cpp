// How often did the rate of coal-mining disasters change? The example of
// the article on tdsmc() in C++. In R:
//
//   Rcpp::sourceCpp(
//     system.file("examples", "coal-changepoints.cpp", package = "kernelbayes")
//   )
//   counts <- tabulate(floor(boot::coal$date) - 1850, 112)
//   fit <- count_changes(counts, particles = 400, seed = 1)
//   tapply(fit$weights, fit$changes, sum)
//
// [[Rcpp::depends(kernelbayes, BH)]]
// [[Rcpp::plugins(cpp17)]]

#include <Rcpp.h>

#include <kernelbayes/transdim.hpp>
#include <kernelbayes/transdim_check.hpp>

namespace kb = kernelbayes;

// The model: yearly counts are Poisson with a rate that changes in any year
// with probability p; rates are Gamma(shape, rate) and integrated out. A state
// holds the years, from 1, in which a rate begins, in ascending order.
struct ChangePoints {
  using State = std::vector<int>;

  // Logarithms are tabulated: this is faster, and std::lgamma() is not
  // thread-safe.
  explicit ChangePoints(const std::vector<int>& counts)
      : sums{0}, log_factorials{0} {
    for (const int y : counts) {
      sums.push_back(sums.back() + y);
      log_factorials.push_back(log_factorials.back() + std::lgamma(y + 1.0));
    }
    for (std::size_t length = 0; length < sums.size(); ++length) {
      log_rates.push_back(std::log(rate + length));
    }
    for (int sum = 0; sum <= sums.back(); ++sum) {
      log_gammas.push_back(std::lgamma(shape + sum));
    }
  }

  State initial(kb::Rng&) const { return {}; }

  double log_density(const State& begins, int t) const {
    if (t == 0) return 0;
    if (begins.empty() || begins[0] != 1) {
      return -std::numeric_limits<double>::infinity();
    }
    const int changes = static_cast<int>(begins.size()) - 1;
    double total = changes * std::log(p) + (t - 1 - changes) * std::log1p(-p) -
                   log_factorials[t];
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const int end = i + 1 < begins.size() ? begins[i + 1] - 1 : t;
      total += log_segment(begins[i], end);
    }
    return total;
  }

  // Two rounds of Metropolis moves: whether a rate begins in a year after the
  // first is flipped; a change moves to a year earlier or later.
  double rejuvenate(State& begins, int t, kb::Rng& rng) const {
    double log_gamma = log_density(begins, t);
    const auto metropolis = [&](State proposed) {
      const double log_new = log_density(proposed, t);
      if (std::log(rng.uniform()) >= log_new - log_gamma) return;
      begins = std::move(proposed);
      log_gamma = log_new;
    };
    for (int round = 0; round < 2; ++round) {
      if (t > 1) metropolis(flip(begins, 2 + rng.index(t - 1)));
      if (t > 2) metropolis(swap(begins, 2 + rng.index(t - 2)));
    }
    return log_gamma;
  }

  double log_segment(int begin, int end) const {
    const int sum = sums[end] - sums[begin - 1];
    return log_gammas[sum] - log_gammas[0] + shape * log_rates[0] -
           (shape + sum) * log_rates[end - begin + 1];
  }

  static State flip(State begins, int year) {
    const auto at = std::lower_bound(begins.begin(), begins.end(), year);
    if (at != begins.end() && *at == year) {
      begins.erase(at);
    } else {
      begins.insert(at, year);
    }
    return begins;
  }

  // Exchanges a year with the next.
  static State swap(const State& begins, int year) {
    const auto has = [&](int y) {
      return std::binary_search(begins.begin(), begins.end(), y);
    };
    if (has(year) == has(year + 1)) return begins;
    return flip(flip(begins, year), year + 1);
  }

  double p = 0.02, shape = 1, rate = 0.5;
  std::vector<int> sums;
  std::vector<double> log_factorials, log_rates, log_gammas;
};

constexpr double kNever = -std::numeric_limits<double>::infinity();
using Years = ChangePoints::State;

inline bool begins_at(const Years& begins, int t) {
  return !begins.empty() && begins.back() == t;
}

// The moves: the rate stays, or it changes. A state has one possible ancestor,
// the one without year t, so the reverse choice is determined.
struct Stay {
  static constexpr const char* name = "stay";
  void propose(Years&, int, kb::Rng&) const {}
  double log_forward(const Years& now, const Years& before, int) const {
    return now == before ? 0 : kNever;
  }
  double log_reverse(const Years& before, const Years& now, int) const {
    return now == before ? 0 : kNever;
  }
  double probability(const Years&, int t) const { return t == 1 ? 0 : 0.95; }
  double reverse_probability(const Years& now, int t) const {
    return begins_at(now, t) ? 0 : 1;
  }
};

struct Change {
  static constexpr const char* name = "change";
  void propose(Years& begins, int t, kb::Rng&) const { begins.push_back(t); }
  double log_forward(const Years& now, Years before, int t) const {
    before.push_back(t);
    return now == before ? 0 : kNever;
  }
  double log_reverse(const Years& before, const Years& now, int t) const {
    return log_forward(now, before, t);
  }
  double probability(const Years&, int t) const { return t == 1 ? 1 : 0.05; }
  double reverse_probability(const Years& now, int t) const {
    return begins_at(now, t) ? 1 : 0;
  }
};

// A run, and the results for R.
// [[Rcpp::export]]
Rcpp::List count_changes(const std::vector<int>& counts, int particles,
                         double seed) {
  kb::SmcSettings settings;
  settings.particles = particles;
  settings.seed = static_cast<std::uint64_t>(seed);
  const auto fit = kb::tdsmc(settings, static_cast<int>(counts.size()),
                             ChangePoints(counts), Stay(), Change());
  std::vector<int> changes;
  for (const Years& state : fit.states) {
    changes.push_back(static_cast<int>(state.size()) - 1);
  }
  return Rcpp::List::create(
      Rcpp::_["changes"] = changes, Rcpp::_["weights"] = fit.weights,
      Rcpp::_["states"] = Rcpp::wrap(fit.states),
      Rcpp::_["log_evidence"] = fit.log_evidence, Rcpp::_["mc_se"] = fit.mc_se,
      Rcpp::_["ess"] = fit.path.ess);
}

// All sets of years that may be states of step t.
inline std::vector<Years> all_years(int t) {
  if (t == 0) return {{}};
  std::vector<Years> all = {{1}};
  for (int year = 2; year <= t; ++year) {
    const std::size_t n = all.size();
    for (std::size_t i = 0; i < n; ++i) {
      all.push_back(all[i]);
      all.back().push_back(year);
    }
  }
  return all;
}

inline Rcpp::DataFrame as_table(const std::vector<kb::MoveFinding>& found) {
  std::vector<std::string> move, check;
  std::vector<int> t;
  std::vector<double> error;
  std::vector<bool> ok;
  for (const kb::MoveFinding& f : found) {
    move.push_back(f.move);
    check.push_back(f.check);
    t.push_back(f.t);
    error.push_back(f.error);
    ok.push_back(f.ok);
  }
  return Rcpp::DataFrame::create(Rcpp::_["move"] = move,
                                 Rcpp::_["check"] = check, Rcpp::_["t"] = t,
                                 Rcpp::_["error"] = error, Rcpp::_["ok"] = ok);
}

// Are the weights exact? By enumeration, for a few counts.
// [[Rcpp::export]]
Rcpp::DataFrame check_change_points(const std::vector<int>& counts, int draws) {
  return as_table(kb::check_moves(all_years, static_cast<int>(counts.size()),
                                  draws, ChangePoints(counts), Stay(),
                                  Change()));
}
