#include "priors.hpp"

#include <limits>

namespace kernelbayes::srvm {

double CountPrior::operator()(int k) const {
  if (parts_.empty()) return lambda_;
  const auto mean = [k](const Gamma& part) {
    return (part.shape + k) / (part.rate + 1);
  };
  if (parts_.size() == 1) return mean(parts_[0]);
  // By log p(k) of each part, relative to the largest so far.
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, total = 0;
  for (const Gamma& part : parts_) {
    const double log_p = std::log(part.weight) + std::lgamma(part.shape + k) -
                         std::lgamma(part.shape) - k * std::log1p(part.rate) -
                         part.shape * std::log1p(1 / part.rate);
    if (log_p > largest) {
      const double shrink = std::exp(largest - log_p);
      sum *= shrink;
      total *= shrink;
      largest = log_p;
    }
    const double p = std::exp(log_p - largest);
    sum += p * mean(part);
    total += p;
  }
  return sum / total;
}

double CentrePrior::log_constant(int m) const {
  // Terms relative to the largest so far: lambda^k may overflow.
  double log_term = 0, largest = 0, sum = 1;
  for (int k = 0; k < limit(m); ++k) {
    const double ratio = growth(k, m);
    log_term += std::log(ratio);
    if (log_term > largest) {
      sum = sum * std::exp(largest - log_term) + 1;
      largest = log_term;
    } else {
      sum += std::exp(log_term - largest);
    }
    // The rest is below rounding.
    if (count_.has_one_mode() && ratio < 1 && log_term < largest - 50) break;
  }
  return largest + std::log(sum);
}

int CentrePrior::quantile(double u, int m) const {
  double log_p = -log_constant(m), below = std::exp(log_p);
  int k = 0;
  while (u >= below && k < limit(m)) {
    log_p += std::log(growth(k, m));
    below += std::exp(log_p);
    ++k;
  }
  return k;
}

PriorStep::PriorStep(const CentrePrior& prior, int m)
    : prior_(prior),
      m_(m),
      constant_(std::exp(prior.log_constant(m - 1) - prior.log_constant(m))) {}

double PriorStep::stay(int k) const {
  if (prior_.kind_ == CentrePrior::Kind::kSubset) {
    return constant_ * (m_ - k) / m_;
  }
  return constant_ * std::pow((m_ - 1.0) / m_, k);
}

double PriorStep::join(int k) const {
  if (k >= prior_.kmax_) return 0;
  const double odds = prior_.count_(k) / m_;
  if (prior_.kind_ == CentrePrior::Kind::kSubset) return constant_ * odds;
  return constant_ * odds * std::pow((m_ - 1.0) / m_, k);
}

}  // namespace kernelbayes::srvm
