#pragma once

#include "kernelbayes/rng.hpp"
#include "ledger.hpp"

namespace kernelbayes::kgs {

/// How labels become wrong: with a known rate, a rate with a Beta(a, b) prior
/// (below the rate for guessing, (C - 1) / C), or, for two classes, one rate
/// each, which sum to less than 1.
struct Noise {
  enum Kind { kFixed, kRate, kByClass };
  Kind kind = kRate;
  double rate = 0;      // if fixed
  double a = 1, b = 1;  // of the prior
};

/// The rates: one, or for two classes the rate at which each gets the other's
/// label.
using Rates = std::vector<double>;

Rates start_rates(const Noise& noise);
Costs costs_of(const Noise& noise, const Rates& rates, int classes);

/// Given the numbers of wrong labels, by label, of `total` each.
void draw_rates(const Noise& noise, const std::vector<int>& wrong,
                const std::vector<int>& total, Rates& rates, Rng& rng);

/// A draw of a Beta(a, b) variable below `upper`, in (0, 1].
double truncated_beta(double a, double b, double upper, Rng& rng);

}  // namespace kernelbayes::kgs
