#include "centres.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kernelbayes::bark {

CentrePrior::CentrePrior(std::vector<double> weights)
    : probability_(std::move(weights)) {
  double sum = 0;
  for (const double weight : probability_) {
    if (!(weight >= 0)) throw std::invalid_argument("a negative weight");
    cumulative_.push_back(sum += weight);
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    throw std::invalid_argument(
        "the weights of locations must have a positive, finite sum");
  }
  // The last is then 1, and so are those before it that have weight 0.
  for (double& below : cumulative_) below /= sum;
  for (double& probability : probability_) {
    probability /= sum;
    log_probability_.push_back(std::log(probability));
  }
}

int CentrePrior::draw(int n, Rng& rng) const {
  if (uniform()) return static_cast<int>(rng.index(n + 1));
  const auto found =
      std::upper_bound(cumulative_.begin(), cumulative_.end(), rng.uniform());
  return static_cast<int>(found - cumulative_.begin());
}

}  // namespace kernelbayes::bark
