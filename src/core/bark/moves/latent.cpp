#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "moves.hpp"

namespace kernelbayes::bark {

namespace {

double draw_one(const State& state, Eigen::Index i, double mean, double sd,
                Rng& rng) {
  return normal_between(mean, sd, state.lower(i), state.upper(i), rng);
}

// (B49), Holmes and Held (2006): with H = K Sig K' = U'U, z_i given the others
// has mean (f_i - h_i z_i) / (1 - h_i) and variance 1 / (1 - h_i), where f =
// U'q is the fit to z and q = Uz; truncated to the class of y_i. q follows z in
// O(m).
void one_by_one(const State& state, const Eigen::MatrixXd& u,
                const Eigen::VectorXd& h, Eigen::VectorXd q, Eigen::VectorXd& z,
                Rng& rng) {
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    const double left = 1 - h[i], from = z[i];
    const double mean = (u.col(i).dot(q) - h[i] * from) / left;
    z[i] = draw_one(state, i, mean, 1 / std::sqrt(left), rng);
    q += (z[i] - from) * u.col(i);
  }
}

}  // namespace

void latent_move(State& state, Rng& rng) {
  if (!state.data().latent()) return;
  if (state.size() == 0) return draw_latent(state, rng);
  const State::Factor factor = state.factor();
  if (!factor.ok) return;
  const Eigen::MatrixXd u = factor.lower.triangularView<Eigen::Lower>().solve(
      state.columns().transpose());
  const Eigen::VectorXd h = u.colwise().squaredNorm().transpose();
  // Below this, the conditional variance of a response is only rounding. The
  // choice depends on the kernels only, which do not change here.
  constexpr double kLeastLeft = 1e-8;
  if (1 - h.maxCoeff() < kLeastLeft) {
    return latent_given_coefficients(state, rng);
  }
  Eigen::VectorXd z = state.response();
  one_by_one(state, u, h, factor.z, z, rng);
  state.set_response(std::move(z));
}

void latent_given_coefficients(State& state, Rng& rng) {
  if (!state.data().latent()) return;
  Eigen::VectorXd f;
  if (draw_fit(state, f, rng)) draw_latent(state, std::move(f), rng);
}

void draw_latent(State& state, Eigen::VectorXd f, Rng& rng) {
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    f[i] = draw_one(state, i, f[i], 1, rng);
  }
  state.set_response(std::move(f));
}

void draw_latent(State& state, Rng& rng) {
  draw_latent(state, Eigen::VectorXd::Zero(state.data().n()), rng);
}

// z *= g and c *= g keep every z_i in its class. With the coefficients
// integrated out and cut points fixed, g^2 ~ Ga(n / 2, Q / 2), Q = z'(I + K V
// K')^-1 z (Liu and Sabatti, 2000): (B50). The logarithms of the gaps shift by
// log g, without a Jacobian: an acceptance step accounts for their prior,
// (B51). With terms they must be integrated out, and the offset 0.
void latent_scale_move(State& state, Rng& rng) {
  if (!state.data().latent()) return;
  const Response& response = state.response_model();
  const bool shifted =
      response.shift().size() > 0 && !response.shift().isZero(0);
  if (shifted) return;
  const Eigen::VectorXd& z = state.response();
  // Q is the least |z - K b|^2 + b'V^-1 b: nothing cancels.
  double q = (z - state.columns() * state.mean()).squaredNorm();
  for (int j = 0; j < state.size(); ++j) {
    q += state.mean()[j] * state.mean()[j] / state.variance(j);
  }
  const auto n = static_cast<double>(z.size());
  const double g = std::sqrt(rng.gamma(0.5 * n) / (0.5 * q));
  std::vector<double> gaps = state.log_gaps();
  if (!gaps.empty()) {
    for (double& gap : gaps) gap += std::log(g);
    const double log_ratio =
        log_prior_gaps(gaps) - log_prior_gaps(state.log_gaps());
    if (!accept(log_ratio, rng)) return;
    state.set_log_gaps(std::move(gaps));
  }
  state.set_response(g * response.plain());
}

double class_log_likelihood(const Data& data, const std::vector<double>& cuts,
                            const Eigen::VectorXd& f) {
  double sum = 0;
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    const int level = data.level(i);
    sum += log_normal_between(cuts[level] - f[i], cuts[level + 1] - f[i]);
  }
  return sum;
}

double class_log_likelihood(const State& state, const std::vector<double>& cuts,
                            const Eigen::VectorXd& f) {
  const Eigen::VectorXd& shift = state.response_model().shift();
  if (shift.size() == 0) return class_log_likelihood(state.data(), cuts, f);
  return class_log_likelihood(state.data(), cuts, f + shift);
}

// If classes are well separated, only the prior determines the size of f, but
// latent responses hold it fixed: they are temporarily integrated out. The
// density of coefficients given varphi and the Jacobian of both cancel; that of
// the logarithms of the gaps, which shift by a constant, is 1. (B52).
bool magnitude_move(State& state, double step, Rng& rng) {
  if (!state.data().latent() || state.size() == 0) return false;
  const State::Factor factor = state.factor();
  if (!factor.ok) return false;
  const Prior& prior = state.prior();
  const Eigen::VectorXd f =
      state.columns() * State::draw_coefficients(factor, rng);
  double count = 0, sum = 0;
  for (int j = 0; j < state.size(); ++j) {
    for (const double varphi : state.slot(j).varphi) {
      ++count;
      sum += varphi;
    }
  }
  const double move = step * rng.normal();
  std::vector<double> gaps = state.log_gaps(), cuts = state.cuts();
  for (double& gap : gaps) gap += move;
  for (double& cut : cuts) cut *= std::exp(move);
  const double log_ratio =
      class_log_likelihood(state, cuts, std::exp(move) * f) -
      class_log_likelihood(state, state.cuts(), f) -
      prior.alpha * count * move -
      prior.varphi_rate() * sum * std::expm1(-2 * move) + log_prior_gaps(gaps) -
      log_prior_gaps(state.log_gaps());
  if (!accept(log_ratio, rng)) return false;
  state.set_log_gaps(std::move(gaps));
  state.scale_varphi(std::exp(-2 * move));
  draw_latent(state, std::exp(move) * f, rng);
  return true;
}

}  // namespace kernelbayes::bark
