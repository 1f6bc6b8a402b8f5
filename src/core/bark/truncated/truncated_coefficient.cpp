// Moves of one coefficient of the truncation approximation.
#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "truncated_moves.hpp"

namespace kernelbayes::bark {

// |beta| = eps U^(-1 / alpha). If alpha is tiny some overflow.
double draw_pareto(const Prior& prior, Rng& rng) {
  constexpr double kLargestLog = 230;
  const double x = -std::log1p(-rng.uniform()) / prior.alpha;
  const double size = prior.eps * std::exp(std::min(x, kLargestLog));
  return rng.uniform() < 0.5 ? -size : size;
}

double log_pareto(const Prior& prior, double beta) {
  return std::log(0.5 * prior.alpha) + prior.alpha * std::log(prior.eps) -
         (1 + prior.alpha) * std::log(std::abs(beta));
}

namespace {

// log of the likelihood at beta, against 0.
double log_likelihood(const Information& data, double beta) {
  return beta * (data.score - 0.5 * data.precision * beta);
}

}  // namespace

CoefficientProposal::CoefficientProposal(const Prior& prior,
                                         const Information& information)
    : prior_(&prior), information_(information) {
  // A normal distribution so wide that the prior has hardly any mass beyond it.
  constexpr double kLeast = 1e-12;
  informed_ = information.precision * prior.eps * prior.eps > kLeast;
  if (!informed_) return;
  sd_ = 1 / std::sqrt(information.precision);
  mean_ = information.score / information.precision;
  log_above_ = log_normal_cdf((mean_ - prior.eps) / sd_);
  log_below_ = log_normal_cdf((-mean_ - prior.eps) / sd_);
}

double CoefficientProposal::draw(Rng& rng) const {
  if (!informed_ || rng.uniform() < 0.5) return draw_pareto(*prior_, rng);
  const double eps = prior_->eps;
  const bool above =
      rng.uniform() < 1 / (1 + std::exp(log_below_ - log_above_));
  const double side = above ? 1 : -1;
  return side * (eps + sd_ * normal_excess((eps - side * mean_) / sd_, rng));
}

double CoefficientProposal::log_weight(double beta) const {
  const double log_prior = log_pareto(*prior_, beta);
  const double log_gain = log_likelihood(information_, beta);
  if (!informed_) return log_gain;
  const double off = (beta - mean_) / sd_;
  const double log_normal =
      log_normal_density(off) - std::log(sd_) - log_add(log_above_, log_below_);
  return log_prior + log_gain - log_add(log_prior, log_normal) + std::log(2.0);
}

// (B67).
bool coefficient_move(TruncatedState& state, int j, double power, Rng& rng) {
  const CoefficientProposal proposal(state.prior(),
                                     power * state.information(j));
  const double beta = proposal.draw(rng);
  const double log_ratio =
      proposal.log_weight(beta) - proposal.log_weight(state.kernel(j).beta);
  if (!accept(log_ratio, rng)) return false;
  state.set_coefficient(j, beta);
  return true;
}

// x = log(|beta| / eps) is an exponential variable of rate alpha: (B68).
bool walk_move(TruncatedState& state, int j, double power, double step,
               Rng& rng) {
  const Prior& prior = state.prior();
  const double beta = state.kernel(j).beta;
  const double from = std::log(std::abs(beta) / prior.eps);
  const double to = std::abs(from + step * rng.normal());
  const double next = std::copysign(prior.eps * std::exp(to), beta);
  const Information data = power * state.information(j);
  const double gain = log_likelihood(data, next) - log_likelihood(data, beta);
  if (!accept(gain - prior.alpha * (to - from), rng)) return false;
  state.set_coefficient(j, next);
  return true;
}

// (B68).
bool sign_move(TruncatedState& state, int j, double power, Rng& rng) {
  const double beta = state.kernel(j).beta;
  const double gain = -2 * power * state.information(j).score * beta;
  if (!accept(gain, rng)) return false;
  state.set_coefficient(j, -beta);
  return true;
}

}  // namespace kernelbayes::bark
