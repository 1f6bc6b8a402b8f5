#pragma once

#include <vector>

namespace kernelbayes::bark {

/// For independent normal variables with these means and standard deviations:
/// log of the probability that number k is the largest, to a relative 1e-8,
/// also in the tails.
double log_largest(const std::vector<double>& mean,
                   const std::vector<double>& sd, int k);

/// The same for each of them, to 1e-7, without logarithms; they sum to 1.
class Largest {
 public:
  const std::vector<double>& operator()(const std::vector<double>& mean,
                                        const std::vector<double>& sd);

 private:
  std::vector<double> sums_, below_, density_;
};

}  // namespace kernelbayes::bark
