#include <algorithm>
#include <stdexcept>

#include "core/bark/glm/glm_likelihood.hpp"

namespace kernelbayes::bark {

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
