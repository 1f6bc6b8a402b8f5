// The adapted proposal where each row has a latent variable.

#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "adapted.hpp"
#include "latent.hpp"
#include "likelihood.hpp"

namespace kernelbayes {
namespace srvm {

namespace {

void put_latent(Particle& particle, const CandidatePool& pool, double value) {
  const std::size_t at = pool.latest_place();
  if (at < particle.latent.size()) {
    particle.latent[at] = value;
  } else {
    particle.latent.push_back(value);
  }
}

// The plain form needs neither the number of rows nor their squares.
Likelihood plain_likelihood(const Particle& particle, const Model& model) {
  return Likelihood(particle, model, 0, 0);
}

// What the new candidate's sums are without the latest row: f at that row is
// what its response is drawn from.
CandidateSums sums_before(const Particle& particle, const Model& model,
                          const CandidatePool& pool,
                          const std::vector<double>& u, double own,
                          std::vector<double>& g) {
  CandidateSums sums = pool.gather_latest(particle.set, model.intercept, g);
  sums = own_sums(particle, model, pool, pool.latest(), sums, g);
  for (int j = 0; j < particle.gram.size(); ++j) g[j] -= own * u[j];
  sums.gram -= own * own;
  return sums;
}

// A latent weight and the log of its prior density over that of its proposal.
struct DrawnWeight {
  double weight, log_ratio;
};

// Half from the prior Gamma(a, a), a = df / 2, and half from what a residual
// of this square (in units of the noise) makes of it: an outlier has next to
// no particle with a weight from the prior alone. The ratio is at most 2.
DrawnWeight draw_weight(double df, double square, Rng& rng) {
  const double a = df / 2, rate = a + std::max(square, 0.0) / 2;
  const bool prior = rng.uniform() < 0.5;
  const double weight = prior ? rng.gamma(a) / a : rng.gamma(a + 0.5) / rate;
  const double log_odds = (a + 0.5) * std::log(rate) - std::lgamma(a + 0.5) -
                          a * std::log(a) + std::lgamma(a) +
                          0.5 * std::log(weight) - (rate - a) * weight;
  // log(1 + odds), which may overflow
  const double log_sum =
      std::max(log_odds, 0.0) + std::log1p(std::exp(-std::abs(log_odds)));
  return {weight, std::log(2.0) - log_sum};
}

// Mean and variance of f at the latest row, whose design is left in scratch.a
// and L^-1 of it in scratch.b.
RowMoments latest_moments(const Particle& particle, const Model& model,
                          const CandidatePool& pool, Scratch& scratch) {
  latest_design(particle, model, pool, scratch.a);
  std::copy(scratch.a.begin(), scratch.a.begin() + particle.gram.size(),
            scratch.b.begin());
  return row_moments(particle, scratch.b);
}

double log_side(double y, const RowMoments& f) {
  return log_normal_cdf(y * f.mean / std::sqrt(1 + f.variance));
}

}  // namespace

double extend_student(Particle& particle, const Model& model,
                      const CandidatePool& pool, const PriorStep& step,
                      double y, Rng& rng, Scratch& scratch) {
  const int p = particle.gram.size();
  std::vector<double>& u = scratch.a;
  const RowMoments f = latest_moments(particle, model, pool, scratch);
  const DrawnWeight drawn = draw_weight(
      model.df, ((y - f.mean) * (y - f.mean) - f.variance) / particle.noise,
      rng);
  // A row of precision omega / noise is the row times root, at precision
  // 1 / noise; its density has the change of scale.
  const double root = std::sqrt(drawn.weight);
  for (int j = 0; j < p; ++j) u[j] *= root;
  const double predictive =
      assimilate(particle, plain_likelihood(particle, model), scratch, u,
                 root * y) +
      std::log(root);
  particle.log_predictive = predictive + drawn.log_ratio;
  put_latent(particle, pool, drawn.weight);
  particle.squares += drawn.weight * y * y;
  const AdaptedProposal proposal =
      score_adapted(particle, model, pool, step, predictive, scratch);
  if (rng.uniform() < proposal.choice.join_probability) {
    append(particle, proposal.birth, scratch.a, scratch.b);
  }
  return proposal.choice.log_weight + drawn.log_ratio;
}

double extend_probit(Particle& particle, const Model& model,
                     const CandidatePool& pool, const PriorStep& step, double y,
                     Rng& rng, Scratch& scratch) {
  const int k = particle.k(), p = particle.gram.size();
  std::vector<double>&u = scratch.a, &h = scratch.b;
  RowMoments f = latest_moments(particle, model, pool, scratch);
  particle.log_predictive = log_side(y, f);
  const bool fresh = pool.latest_is_new();
  AdaptedChoice choice{
      particle.log_predictive + (fresh ? std::log(step.stay(k)) : 0), 0};
  const double join = fresh ? step.join(k) : 0;
  if (join > 0) {
    const double own = pool.latest_value(pool.latest());
    const CandidateSums sums =
        sums_before(particle, model, pool, u, own, scratch.c);
    const Birth birth = score_birth(particle, plain_likelihood(particle, model),
                                    pool.latest(), sums, scratch.c, scratch.d);
    double last = own;
    for (int j = 0; j < p; ++j) last -= scratch.d[j] * h[j];
    last /= birth.pivot;
    const RowMoments with{f.mean + last * birth.z, f.variance + last * last};
    choice =
        adapted_choice(choice.log_weight,
                       std::log(join) + birth.log_ratio + log_side(y, with));
    if (rng.uniform() < choice.join_probability) {
      append(particle, birth, scratch.c, scratch.d);
      u[p] = own;
      f = with;
    }
  }
  const double z =
      y * positive_normal(y * f.mean, std::sqrt(1 + f.variance), rng);
  put_latent(particle, pool, z);
  particle.squares += z * z;
  assimilate(particle, plain_likelihood(particle, model), scratch, u, z);
  return choice.log_weight;
}

}  // namespace srvm
}  // namespace kernelbayes
