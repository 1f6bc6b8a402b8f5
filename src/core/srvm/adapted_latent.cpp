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

double log_side(double y, const RowMoments& f) {
  return log_normal_cdf(y * f.mean / std::sqrt(1 + f.variance));
}

}  // namespace

double extend_student(Particle& particle, const Model& model,
                      const CandidatePool& pool, const PriorStep& step,
                      double y, Rng& rng, Scratch& scratch) {
  const double weight = 2 * rng.gamma(model.df / 2) / model.df;
  const double root = std::sqrt(weight);
  latest_design(particle, model, pool, scratch.a);
  for (int j = 0; j < particle.gram.size(); ++j) scratch.a[j] *= root;
  const double predictive =
      assimilate(particle, plain_likelihood(particle, model), scratch,
                 scratch.a, root * y) +
      std::log(root);
  put_latent(particle, pool, weight);
  particle.squares += weight * y * y;
  const AdaptedProposal proposal =
      score_adapted(particle, model, pool, step, predictive, scratch);
  if (rng.uniform() < proposal.choice.join_probability) {
    append(particle, proposal.birth, scratch.a, scratch.b);
  }
  return proposal.choice.log_weight;
}

double extend_probit(Particle& particle, const Model& model,
                     const CandidatePool& pool, const PriorStep& step, double y,
                     Rng& rng, Scratch& scratch) {
  const int k = particle.k(), p = particle.gram.size();
  std::vector<double>&u = scratch.a, &h = scratch.b;
  latest_design(particle, model, pool, u);
  std::copy(u.begin(), u.begin() + p, h.begin());
  RowMoments f = row_moments(particle, h);
  const bool fresh = pool.latest_is_new();
  AdaptedChoice choice{
      log_side(y, f) + (fresh ? std::log(step.stay(k)) : 0), 0};
  const double join = fresh ? step.join(k) : 0;
  if (join > 0) {
    const double own = pool.latest_value(pool.latest());
    const CandidateSums sums =
        sums_before(particle, model, pool, u, own, scratch.c);
    const Birth birth =
        score_birth(particle, plain_likelihood(particle, model), pool.latest(),
                    sums, scratch.c, scratch.d);
    double last = own;
    for (int j = 0; j < p; ++j) last -= scratch.d[j] * h[j];
    last /= birth.pivot;
    const RowMoments with{f.mean + last * birth.z, f.variance + last * last};
    choice = adapted_choice(choice.log_weight,
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
