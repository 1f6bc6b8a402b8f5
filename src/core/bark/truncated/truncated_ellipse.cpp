#include <numeric>

#include "core/bark/coefficients/ellipse_slice.hpp"
#include "core/decompositions.hpp"
#include "truncated_moves.hpp"

namespace kernelbayes::bark {

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
