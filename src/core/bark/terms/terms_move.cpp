// Terms beside the kernels, and the noise given all of the residuals.
#include "core/bark/moves/moves.hpp"
#include "core/decompositions.hpp"

namespace kernelbayes::bark {

namespace {

// sqrt(w) (y - terms - f), and how it depends on terms.
struct Residuals {
  Eigen::VectorXd values;
  double noise;
};

// (B105): coefficients of all groups and their standard deviation by one
// factor; the coefficients in units of it stay. Steps have random lengths.
void scale_groups(const Grouping& grouping, TermValues::Factor& factor, int l,
                  Eigen::VectorXd part, Residuals& residuals, Rng& rng) {
  constexpr int kTries = 3;
  const int q = grouping.size();
  const double power = -(kGroupDf + q - 1);
  for (int t = 0; t < kTries; ++t) {
    const double move = std::exp2(1 - 5 * rng.uniform()) * rng.normal();
    const double grow = std::expm1(move);
    const double inverse =
        linalg::PositiveSolver(factor.sigma)
            .solve(Eigen::VectorXd(Eigen::VectorXd::Unit(q, l)))[l];
    const double gain = grow * residuals.values.dot(part) -
                        0.5 * grow * grow * part.squaredNorm();
    const double log_ratio =
        residuals.noise * gain + power * move -
        kGroupDf / factor.auxiliary[l] * inverse * std::expm1(-2 * move);
    if (!accept(log_ratio, rng)) continue;
    residuals.values -= grow * part;
    part *= 1 + grow;
    factor.b.row(l) *= 1 + grow;
    factor.sigma.row(l) *= 1 + grow;
    factor.sigma.col(l) *= 1 + grow;
  }
}

void scale_groups(const Terms& terms, TermValues& values, Residuals& residuals,
                  Rng& rng) {
  const auto& groupings = terms.data().groupings;
  for (int k = 0; k < static_cast<int>(groupings.size()); ++k) {
    for (int l = 0; l < groupings[k].size(); ++l) {
      scale_groups(groupings[k], values.factors[k], l,
                   terms.weighted(values, k, l), residuals, rng);
    }
  }
}

// (B143), (B144).
void move_slopes(const Terms& terms, TermValues& values, Residuals& residuals,
                 Rng& rng) {
  constexpr int kTries = 3;
  const int p = terms.data().slopes;
  if (p == 0 || terms.amplitude() == 0) return;
  SlopeSd sd(terms.data(), values.slope_sd);
  sd.draw(values.gamma.tail(p).squaredNorm() / terms.amplitude(), rng);
  Eigen::VectorXd part = terms.weighted_slopes(values);
  for (int t = 0; t < kTries; ++t) {
    const SlopeSd::Stretch to = sd.propose(rng);
    const double gain = to.grow * residuals.values.dot(part) -
                        0.5 * to.grow * to.grow * part.squaredNorm();
    if (!accept(residuals.noise * gain + to.log_ratio, rng)) continue;
    sd.take(to);
    residuals.values -= to.grow * part;
    part *= 1 + to.grow;
    values.gamma.tail(p) *= 1 + to.grow;
  }
  values.slope_sd = sd.value();
}

}  // namespace

TermValues draw_terms(const State& state, Eigen::VectorXd& residuals,
                      Rng& rng) {
  const Terms& terms = state.response_model().terms();
  TermValues values = terms.draw(residuals, rng);
  terms.draw_inactive(residuals, values, rng);
  return values;
}

void terms_move(State& state, Rng& rng) {
  const Terms& terms = state.response_model().terms();
  Eigen::VectorXd fit;
  if (!draw_fit(state, fit, rng)) return;
  Residuals residuals{state.response_model().residuals(fit), state.noise()};
  TermValues values = draw_terms(state, residuals.values, rng);
  draw_covariances(terms.data(), values, rng);
  scale_groups(terms, values, residuals, rng);
  move_slopes(terms, values, residuals, rng);
  Eigen::VectorXd weights = draw_noise(state, residuals.values, rng);
  state.set_terms(std::move(values), true, state.noise(), std::move(weights));
}

// (B106), the first step, and below the third.
bool fix_terms(State& state, Rng& rng) {
  Eigen::VectorXd fit;
  if (!draw_fit(state, fit, rng)) return false;
  Eigen::VectorXd residuals = state.response_model().residuals(fit);
  state.fix_terms(draw_terms(state, residuals, rng));
  return true;
}

void release_terms(State& state, Rng& rng) {
  const Terms& terms = state.response_model().terms();
  TermValues values = terms.values();
  draw_covariances(terms.data(), values, rng);
  Eigen::VectorXd fit;
  if (draw_fit(state, fit, rng)) {
    Residuals residuals{state.response() - fit, state.noise()};
    scale_groups(terms, values, residuals, rng);
    move_slopes(terms, values, residuals, rng);
  }
  state.set_terms(std::move(values), true, state.noise(), {});
}

// (B145): neither has a conditional distribution given draws of coefficients.
void tempered_terms_move(State& state, double power, Rng& rng) {
  constexpr int kTries = 3;
  const Prior& prior = state.prior();
  for (int t = 0; t < kTries; ++t) {
    TermValues values = state.response_model().terms().values();
    const TermValues before = values;
    const double phi = state.noise(), now = state.log_likelihood();
    SlopeSd sd(state.data().terms, values.slope_sd);
    const SlopeSd::Stretch to = sd.propose(rng);
    sd.take(to);
    values.slope_sd = sd.value();
    const double move =
        prior.noise_fixed ? 0 : std::exp2(-3 * rng.uniform()) * rng.normal();
    const double next = phi * std::exp(move);
    state.set_terms(std::move(values), false, next, {});
    const double log_ratio = power * (state.log_likelihood() - now) +
                             to.log_ratio + prior.noise_shape * move -
                             prior.noise_rate * (next - phi);
    if (accept(log_ratio, rng)) continue;
    state.set_terms(before, false, phi, {});
  }
}

void draw_prior_terms(State& state, Rng& rng) {
  const Terms& terms = state.response_model().terms();
  if (!terms.any()) return;
  state.set_terms(terms.draw_prior(rng), false, state.noise(),
                  state.row_weights());
}

}  // namespace kernelbayes::bark
