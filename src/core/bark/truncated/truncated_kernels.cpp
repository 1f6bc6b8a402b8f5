// Births, deaths and relocations of kernels of the truncation approximation.
//
// A kernel is seldom accepted if all others stay the same: |beta| > eps is a
// large step. So a few others, its company, compensate for it. The column k of
// the kernel is regressed on theirs, with coefficients c, and when the kernel
// enters with beta theirs become b - beta c: a shear, with Jacobian 1. The fit
// then changes by beta times the residual k - K c. Company and c are the same
// for the reverse move. Without company the others stay. Births and deaths:
// (B69).
#include "truncated_moves.hpp"

namespace kernelbayes::bark {

namespace {

struct Company {
  std::vector<int> kernels;
  Eigen::MatrixXd columns;
  double spread;
};

// From kernels other than `but`.
Company choose_company(const TruncatedState& state, int but, Rng& rng) {
  constexpr int kSizes[] = {0, 4, 16};
  const int others = state.size() - (but >= 0);
  Company out;
  out.kernels = choose_several(others, kSizes[rng.index(3)], rng);
  for (int& j : out.kernels) j += but >= 0 && j >= but;
  out.columns.resize(state.data().n(), out.kernels.size());
  for (std::size_t i = 0; i < out.kernels.size(); ++i) {
    out.columns.col(i) = state.columns().col(out.kernels[i]);
  }
  out.spread = draw_spread(state.prior(), rng);
  return out;
}

/// c and k - K c, for a kernel with company.
struct Shear {
  Eigen::VectorXd shift, rest;

  Shear(const TruncatedState& state, const Company& company,
        const Eigen::VectorXd& values, double power)
      : shift(Eigen::VectorXd::Zero(company.kernels.size())), rest(values) {
    if (company.kernels.empty()) return;
    const NormalLaw law = make_normal_law(
        company.columns, values, power * state.noise() * state.amplitude(),
        company.spread);
    if (!law.ok) return;
    shift = law.mean;
    rest -= company.columns * shift;
  }

  /// The information of the data on beta; `residual` does not contain it.
  Information information(const TruncatedState& state,
                          const Eigen::VectorXd& residual) const {
    return {state.noise() * state.amplitude() * rest.squaredNorm(),
            state.noise() * std::sqrt(state.amplitude()) * rest.dot(residual)};
  }

  /// The residual without the kernel and the compensation by its company.
  Eigen::VectorXd free_residual(const TruncatedState& state,
                                double beta) const {
    return state.residual() + std::sqrt(state.amplitude()) * beta * rest;
  }
};

// log of the ratio of the priors of the company's coefficients.
double log_prior_ratio(const TruncatedState& state, const Company& company,
                       const Eigen::VectorXd& change) {
  const Prior& prior = state.prior();
  double sum = 0;
  for (std::size_t i = 0; i < company.kernels.size(); ++i) {
    const double from = state.kernel(company.kernels[i]).beta;
    const double to = from + change[i];
    if (std::abs(to) < prior.eps) return -INFINITY;
    sum += log_pareto(prior, to) - log_pareto(prior, from);
  }
  return sum;
}

void change_company(TruncatedState& state, const Company& company,
                    const Eigen::VectorXd& change) {
  for (std::size_t i = 0; i < company.kernels.size(); ++i) {
    const int j = company.kernels[i];
    state.set_coefficient(j, state.kernel(j).beta + change[i]);
  }
}

bool birth(TruncatedState& state, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const int location = static_cast<int>(rng.index(state.data().n() + 1));
  const auto place = state.make_place(location);
  const Company company = choose_company(state, -1, rng);
  const Shear shear(state, company, place.values, power);
  const CoefficientProposal proposal(
      prior, power * shear.information(state, state.residual()));
  const double beta = proposal.draw(rng);
  const Eigen::VectorXd change = -beta * shear.shift;
  const double log_ratio = proposal.log_weight(beta) +
                           std::log(prior.nu / (state.size() + 1)) +
                           log_prior_ratio(state, company, change);
  if (!accept(log_ratio, rng)) return false;
  change_company(state, company, change);
  state.add(place, beta);
  return true;
}

bool death(TruncatedState& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  const int j = static_cast<int>(rng.index(state.size()));
  const double beta = state.kernel(j).beta;
  const Company company = choose_company(state, j, rng);
  const Shear shear(state, company, state.columns().col(j), power);
  const CoefficientProposal proposal(
      prior,
      power * shear.information(state, shear.free_residual(state, beta)));
  const Eigen::VectorXd change = beta * shear.shift;
  const double log_ratio = std::log(state.size() / prior.nu) -
                           proposal.log_weight(beta) +
                           log_prior_ratio(state, company, change);
  if (!accept(log_ratio, rng)) return false;
  change_company(state, company, change);
  state.remove(j);
  return true;
}

// With a new coefficient, (B70); log_proposal is the ratio for the choice of
// place.
bool move_kernel(TruncatedState& state, int j,
                 const TruncatedState::Place& place, double log_proposal,
                 double power, Rng& rng) {
  const Prior& prior = state.prior();
  const double beta = state.kernel(j).beta;
  const Company company = choose_company(state, j, rng);
  const Shear out(state, company, state.columns().col(j), power);
  const Shear in(state, company, place.values, power);
  const Eigen::VectorXd residual = out.free_residual(state, beta);
  const CoefficientProposal from(prior,
                                 power * out.information(state, residual));
  const CoefficientProposal to(prior, power * in.information(state, residual));
  const double next = to.draw(rng);
  const Eigen::VectorXd change = beta * out.shift - next * in.shift;
  const double log_ratio = to.log_weight(next) - from.log_weight(beta) +
                           log_prior_ratio(state, company, change) +
                           log_proposal;
  if (!accept(log_ratio, rng)) return false;
  change_company(state, company, change);
  state.remove(j);
  state.add(place, next);
  return true;
}

}  // namespace

bool birth_death_move(TruncatedState& state, double power, Rng& rng) {
  if (rng.uniform() < 0.5) return birth(state, power, rng);
  return death(state, power, rng);
}

bool relocate_move(TruncatedState& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const int to = static_cast<int>(rng.index(state.data().n() + 1));
  return move_kernel(state, j, state.make_place(to), 0, power, rng);
}

// Like local_move() for a State: row i is chosen with probability proportional
// to K(x_i, c)^s.
bool local_move(TruncatedState& state, double power, Rng& rng) {
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const double sharpness = std::exp2(4 * rng.uniform());
  const int own = state.kernel(j).location - 1;
  if (own < 0) return false;
  Eigen::VectorXd weights;
  const double leaving = similarities(
      *state.data().arithmetic, state.exponents(j), own, sharpness, weights);
  const int row = choose_weighted(weights, leaving, rng);
  if (row < 0) return false;
  const auto place = state.make_place(row + 1);
  const double back = similarities(*state.data().arithmetic, place.exponents,
                                   row, sharpness, weights);
  return move_kernel(state, j, place, std::log(leaving / back), power, rng);
}

}  // namespace kernelbayes::bark
