// Moves of one coefficient of the truncation approximation.
#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>
#include <numeric>

#include "core/bark/coefficients/mode.hpp"
#include "core/decompositions.hpp"
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

NormalLaw make_normal_law(const Eigen::MatrixXd& columns,
                          const Eigen::VectorXd& y, double precision,
                          double spread) {
  NormalLaw out;
  const Eigen::Index m = columns.cols();
  out.lower = Eigen::MatrixXd::Zero(m, m);
  out.lower.selfadjointView<Eigen::Lower>().rankUpdate(columns.transpose(),
                                                       precision);
  out.lower.diagonal().array() += spread;
  out.ok = linalg::factorise(out.lower);
  if (!out.ok) return out;
  const Eigen::MatrixXd& lower = out.lower;
  out.mean = precision * (columns.transpose() * y);
  lower.triangularView<Eigen::Lower>().solveInPlace(out.mean);
  lower.transpose().triangularView<Eigen::Upper>().solveInPlace(out.mean);
  return out;
}

double draw_spread(const Prior& prior, Rng& rng) {
  const double width = draw_pareto(prior, rng);
  return 1 / (width * width);
}

std::vector<int> choose_several(int m, int size, Rng& rng) {
  std::vector<int> out(m);
  std::iota(out.begin(), out.end(), 0);
  size = std::min(size, m);
  for (int i = 0; i < size; ++i) {
    std::swap(out[i], out[i + static_cast<int>(rng.index(m - i))]);
  }
  out.resize(size);
  return out;
}

namespace {

/// Coefficients of some kernels, with the normal distribution that the
/// likelihood gives them.
struct Block {
  Eigen::VectorXd beta;
  double spread;
  NormalLaw law;
};

Block make_block(const TruncatedState& state, const std::vector<int>& kernels,
                 double power, Rng& rng) {
  Block out;
  const int size = static_cast<int>(kernels.size());
  Eigen::MatrixXd columns(state.data().n(), size);
  out.beta.resize(size);
  const double a = std::sqrt(state.amplitude());
  for (int i = 0; i < size; ++i) {
    columns.col(i) = a * state.columns().col(kernels[i]);
    out.beta[i] = state.kernel(kernels[i]).beta;
  }
  out.spread = draw_spread(state.prior(), rng);
  out.law = make_normal_law(columns, state.residual() + columns * out.beta,
                            power * state.noise(), out.spread);
  return out;
}

// log of prior times likelihood, divided by the normal density of the block.
double log_excess(const Prior& prior, const Block& block,
                  const Eigen::VectorXd& beta) {
  double sum = 0;
  for (const double b : beta) {
    if (std::abs(b) < prior.eps) return -INFINITY;
    sum +=
        0.5 * block.spread * b * b - (1 + prior.alpha) * std::log(std::abs(b));
  }
  return sum;
}

}  // namespace

// Elliptical slice sampling (Murray, Adams and MacKay, 2010) around the normal
// distribution from the likelihood, (B71); the rest is the Pareto prior. That
// distribution, and whether it can be computed, may depend on everything except
// the coefficients of the block. An ellipse can jump over the hole in the
// prior.
bool ellipse_move(TruncatedState& state, int size, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  const std::vector<int> kernels = choose_several(state.size(), size, rng);
  const Block block = make_block(state, kernels, power, rng);
  if (!block.law.ok) return false;
  Eigen::VectorXd other(block.beta.size());
  for (double& value : other) value = rng.normal();
  block.law.lower.triangularView<Eigen::Lower>().transpose().solveInPlace(
      other);
  const Eigen::VectorXd off = block.beta - block.law.mean;
  const double level =
      log_excess(prior, block, block.beta) + std::log(1 - rng.uniform());
  const auto take = [&](double cosine, double sine) {
    const Eigen::VectorXd beta = block.law.mean + cosine * off + sine * other;
    if (!(log_excess(prior, block, beta) > level)) return false;
    Eigen::VectorXd all = state.coefficients();
    for (int k = 0; k < beta.size(); ++k) all[kernels[k]] = beta[k];
    state.set_coefficients(all);
    return true;
  };
  return slice_ellipse(take, rng);
}

}  // namespace kernelbayes::bark
