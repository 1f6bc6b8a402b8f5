#include "priors.hpp"

namespace kernelbayes::srvm {

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
    if (ratio < 1 && log_term < largest - 50) break;  // below rounding
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
