#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/bark/glm/glm_likelihood.hpp"

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

// A new family is one row, and if its likelihood is new a class in glm/.
const Family* family(const std::string& name) {
  constexpr auto kGlm = Family::kGlm;
  static const Family rows[] = {
      {"gaussian", Family::kNormal},
      {"student", Family::kStudent},
      {"probit", Family::kLatent},
      {"ordered", Family::kLatent, nullptr, true},
      {"poisson", kGlm, poisson},
      {"negbinomial", kGlm, negative_binomial},
      {"gamma", kGlm, gamma},
      {"binomial_logit", kGlm, binomial_logit},
      {"binomial_probit", kGlm, binomial_probit},
      // As ordered, with case weights.
      {"ordered_probit", kGlm, ordered_probit, true},
      // y is N(0, exp f), the log variance of noise that varies.
      {"log_variance", kGlm, log_variance},
      {"censored_normal", kGlm, censored_normal, false, true},
      {"censored_extreme", kGlm, censored_extreme, false, true}};
  const auto found =
      std::find_if(std::begin(rows), std::end(rows),
                   [&name](const Family& row) { return row.name == name; });
  if (found == std::end(rows)) {
    throw std::invalid_argument("no family is named '" + name + "'");
  }
  return found;
}

}  // namespace kernelbayes::bark
