#include "glm_likelihood.hpp"

#include <cmath>

namespace kernelbayes::bark {

GlmLikelihood::GlmLikelihood(const Data& data)
    : constants_(Eigen::ArrayXd::Zero(data.y.size())) {
  if ((data.weights.array() != 1).any()) weights_ = data.weights;
}

GlmLikelihood::Rows GlmLikelihood::weighted(const Eigen::VectorXd& f) const {
  Rows at = rows(f);
  if (weights_.size() > 0) {
    at.value *= weights_;
    at.first *= weights_;
    at.minus_second *= weights_;
  }
  return at;
}

GlmLikelihood::Derivatives GlmLikelihood::derivatives(
    const Eigen::VectorXd& f) const {
  Rows at = weighted(f);
  return {constant() + at.value.sum(), std::move(at.first),
          std::move(at.minus_second)};
}

// Steps of random length.
void GlmLikelihood::step_in_log(const Eigen::VectorXd& f, Rng& rng) {
  constexpr int kTimes = 4;
  const auto log_posterior = [&] { return log_likelihood(f) + log_prior(); };
  std::vector<double> values = parameters();
  double before = log_posterior();
  for (double& value : values) {
    for (int i = 0; i < kTimes; ++i) {
      const double from = value;
      const double length = std::exp2(1 - 4 * rng.uniform());
      value = from * std::exp(length * rng.normal());
      set_parameters(values);
      const double after = log_posterior(), log_ratio = after - before;
      if (log_ratio >= 0 || rng.uniform() < std::exp(log_ratio)) {
        before = after;
      } else {
        value = from;
      }
    }
  }
  set_parameters(values);
}

using Array = Eigen::ArrayXd;

Array exp_minus(const Arithmetic& arithmetic, const Array& t) {
  Array out(t.size());
  arithmetic.exp_minus(t.matrix(), out.matrix());
  return out;
}

Logistic::Logistic(const Arithmetic& arithmetic, const Array& t)
    : p(t.size()), variance(t.size()), log_sum(t.size()) {
  arithmetic.logistic(t.matrix(), p.matrix(), variance.matrix(),
                      log_sum.matrix());
}

}  // namespace kernelbayes::bark
