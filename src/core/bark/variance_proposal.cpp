#include "variance_proposal.hpp"

#include <algorithm>
#include <cmath>

namespace kernelbayes {
namespace bark {

VarianceProposal::VarianceProposal(const Prior& prior, int copies,
                                   const Information& information, double power)
    : prior_(&prior),
      squared_copies_(double(copies) * copies),
      information_(information),
      power_(power) {
  shape_ = 0.5 * prior.alpha;
  rate_ = prior.varphi_rate() * squared_copies_;
  const double log_rate = std::log(rate_);
  log_constant_ = shape_ * log_rate - std::lgamma(shape_);
  // Below, varphi is more than 5 times the scale of its rate: the prior covers
  // that.
  lower_ = log_rate - 1.6;
  const double step = std::exp(kWidth);
  double v = std::exp(lower_ + 0.5 * kWidth);
  for (int bin = 0; bin < kBins; ++bin, v *= step) {
    density_[bin] = log_target(lower_ + (bin + 0.5) * kWidth, v);
  }
  density_[kBins] = log_target(upper(), std::exp(upper()));
  log_top_ = *std::max_element(density_.begin(), density_.end());
  const bool informed = information.precision * std::exp(upper()) > 1;
  tail_rate_ = 0.5 * (prior.alpha + (informed ? power : 0));
  total_ = 0;
  for (int bin = 0; bin <= kBins; ++bin) {
    density_[bin] = std::exp(density_[bin] - log_top_);
    total_ += density_[bin] * (bin < kBins ? kWidth : 1 / tail_rate_);
  }
}

// Density of x: varphi = copies^2 exp(-x) is Ga(alpha / 2, rate).
double VarianceProposal::log_prior(double x, double v) const {
  return log_constant_ - shape_ * x - rate_ / v;
}

double VarianceProposal::log_target(double x, double v) const {
  return log_prior(x, v) + power_ * information_.log_ratio(v);
}

double VarianceProposal::draw(Rng& rng) const {
  if (rng.uniform() < kPriorShare) return prior_->draw_varphi(rng);
  double left = rng.uniform() * total_;
  for (int bin = 0; bin < kBins; ++bin) {
    const double mass = density_[bin] * kWidth;
    if (left < mass) {
      return squared_copies_ * std::exp(-lower_ - (bin + left / mass) * kWidth);
    }
    left -= mass;
  }
  return squared_copies_ *
         std::exp(-upper() + std::log1p(-rng.uniform()) / tail_rate_);
}

// (B23), with densities of x.
double VarianceProposal::log_weight(double varphi) const {
  const double v = squared_copies_ / varphi, x = std::log(v);
  double density = 0;
  if (x >= upper()) {
    density = density_[kBins] * std::exp(-tail_rate_ * (x - upper()));
  } else if (x >= lower_) {
    const int bin = static_cast<int>((x - lower_) / kWidth);
    density = density_[std::min(bin, kBins - 1)];
  }
  const double log_p = log_prior(x, v);
  const double log_gain = power_ * information_.log_ratio(v);
  const double proposal =
      (1 - kPriorShare) * density / total_ + kPriorShare * std::exp(log_p);
  return log_p + log_gain - std::log(proposal);
}

}  // namespace bark
}  // namespace kernelbayes
