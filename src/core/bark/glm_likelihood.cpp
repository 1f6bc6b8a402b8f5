#include "glm_likelihood.hpp"

#include <cmath>
#include <map>
#include <stdexcept>

namespace kernelbayes {
namespace bark {

GlmLikelihood::Derivatives GlmLikelihood::derivatives(
    const Eigen::VectorXd& f) const {
  Rows at = rows(f);
  return {constant_ + at.value.sum(), std::move(at.first),
          std::move(at.minus_second)};
}

// Steps of random length.
void GlmLikelihood::step_in_log(const Eigen::VectorXd& f, Rng& rng) {
  constexpr int kTimes = 4;
  const auto log_posterior = [&] { return log_likelihood(f) + log_prior(); };
  double before = log_posterior();
  for (int i = 0; i < kTimes; ++i) {
    const double from = parameters().front();
    const double length = std::exp2(1 - 4 * rng.uniform());
    set_parameters({from * std::exp(length * rng.normal())});
    const double after = log_posterior(), log_ratio = after - before;
    if (log_ratio >= 0 || rng.uniform() < std::exp(log_ratio)) {
      before = after;
    } else {
      set_parameters({from});
    }
  }
}

LikelihoodPtr make_likelihood(const Data& data, const Prior& prior) {
  static const std::map<Family, decltype(&poisson)> makers{
      {Family::kPoisson, poisson},
      {Family::kNegativeBinomial, negative_binomial},
      {Family::kBinomialLogit, binomial_logit},
      {Family::kBinomialProbit, binomial_probit},
      {Family::kCensoredNormal, censored_normal},
      {Family::kCensoredExtreme, censored_extreme}};
  const auto found = makers.find(data.family);
  if (found == makers.end()) {
    throw std::invalid_argument("the family has a latent normal form");
  }
  return found->second(data, prior);
}

}  // namespace bark
}  // namespace kernelbayes
