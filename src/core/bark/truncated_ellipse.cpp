#include <Eigen/Cholesky>
#include <numeric>

#include "truncated_moves.hpp"

namespace kernelbayes {
namespace bark {

namespace {

// `size` of 0, ..., m - 1, each set as likely.
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

/// The normal law N(mean, (LL')^-1) that the likelihood and N(0, 1 / spread)
/// have together, of the coefficients of some kernels given the others.
struct Block {
  std::vector<int> kernels;
  Eigen::VectorXd beta, mean;
  Eigen::MatrixXd factor;
  double spread;
  bool ok;
};

Block make_block(const TruncatedState& state, std::vector<int> kernels,
                 double spread, double power) {
  Block out{std::move(kernels), {}, {}, {}, spread, true};
  const int size = static_cast<int>(out.kernels.size());
  const double a = std::sqrt(state.amplitude());
  Eigen::MatrixXd columns(state.data().n(), size);
  out.beta.resize(size);
  for (int i = 0; i < size; ++i) {
    columns.col(i) = state.columns().col(out.kernels[i]);
    out.beta[i] = state.kernel(out.kernels[i]).beta;
  }
  const Eigen::MatrixXd gram = columns.transpose() * columns;
  const double precision = power * state.noise() * a * a;
  out.factor = precision * gram;
  out.factor.diagonal().array() += spread;
  const Eigen::VectorXd diagonal = out.factor.diagonal();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(out.factor);
  // What is lost depends on kernels and spread alone: to stay is then no bias.
  constexpr double kSmallestPivot = 1e-9;
  out.ok = llt.info() == Eigen::Success &&
           (out.factor.diagonal().array().square() / diagonal.array())
                   .minCoeff() > kSmallestPivot;
  if (!out.ok) return out;
  // From the current coefficients: products of the residual cancel less.
  const Eigen::VectorXd score =
      power * state.noise() * a * (columns.transpose() * state.residual()) -
      spread * out.beta;
  out.mean = out.beta + llt.solve(score);
  return out;
}

// log of prior times likelihood over the block's normal density.
double log_excess(const Prior& prior, const Block& block,
                  const Eigen::VectorXd& beta) {
  double sum = 0;
  for (const double b : beta) {
    if (std::abs(b) < prior.eps) return -INFINITY;
    sum += 0.5 * block.spread * b * b -
           (1 + prior.alpha) * std::log(std::abs(b));
  }
  return sum;
}

}  // namespace

// Elliptical slice sampling (Murray, Adams and MacKay, 2010) about the normal
// law that the likelihood has; the rest is the Pareto prior. 1 / spread, which
// keeps nearly equal columns apart, is the square of a draw from the prior:
// any law that does not look at the coefficients will do. An ellipse can lead
// past the hole in the prior.
bool ellipse_move(TruncatedState& state, int size, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  const double width = draw_pareto(prior, rng);
  const Block block =
      make_block(state, choose_several(state.size(), size, rng),
                 1 / (width * width), power);
  if (!block.ok) return false;
  Eigen::VectorXd other(block.beta.size());
  for (double& value : other) value = rng.normal();
  block.factor.triangularView<Eigen::Lower>().transpose().solveInPlace(other);
  const Eigen::VectorXd off = block.beta - block.mean;
  const double level = log_excess(prior, block, block.beta) +
                       std::log(1 - rng.uniform());
  constexpr double kTwoPi = 6.28318530717958647692;
  constexpr int kTries = 60;
  double angle = kTwoPi * rng.uniform(), low = angle - kTwoPi, high = angle;
  for (int i = 0; i < kTries; ++i) {
    const Eigen::VectorXd beta =
        block.mean + std::cos(angle) * off + std::sin(angle) * other;
    if (log_excess(prior, block, beta) > level) {
      Eigen::VectorXd all = state.coefficients();
      for (int k = 0; k < beta.size(); ++k) all[block.kernels[k]] = beta[k];
      state.set_coefficients(all);
      return true;
    }
    (angle < 0 ? low : high) = angle;
    angle = low + (high - low) * rng.uniform();
  }
  return false;
}

}  // namespace bark
}  // namespace kernelbayes
