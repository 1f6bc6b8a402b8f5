#include "adapted.hpp"

#include <cmath>

#include "latent.hpp"
#include "likelihood.hpp"

namespace kernelbayes {
namespace srvm {

AdaptedChoice adapted_choice(double log_stay, double log_join) {
  const double difference = log_join - log_stay;
  if (difference > 0) {
    const double ratio = std::exp(-difference);
    return {log_join + std::log1p(ratio), 1 / (1 + ratio)};
  }
  const double ratio = std::exp(difference);
  return {log_stay + std::log1p(ratio), ratio / (1 + ratio)};
}

AdaptedProposal propose_adapted(Particle& particle, const Model& model,
                                const CandidatePool& pool,
                                const PriorStep& step, double y,
                                Scratch& scratch) {
  const double predictive =
      assimilate_latest(particle, model, pool, y, scratch);
  particle.log_predictive = predictive;
  return score_adapted(particle, model, pool, step, predictive, scratch);
}

AdaptedProposal score_adapted(const Particle& particle, const Model& model,
                              const CandidatePool& pool, const PriorStep& step,
                              double predictive, Scratch& scratch, int h) {
  const int k = particle.k();
  // A repeated point is no new candidate: the prior does not change.
  if (!pool.latest_is_new()) return {{predictive, 0}, {}};

  const double log_stay = predictive + std::log(step.stay(k));
  const double join = step.join(k);
  if (join == 0) return {{log_stay, 0}, {}};

  const Likelihood now(particle, model, pool.rows(),
                       squared_responses(particle, model, pool));
  const CandidateSums sums =
      own_sums(particle, model, pool, pool.latest(h),
               pool.gather_latest(particle.set, model.intercept, scratch.a, h),
               scratch.a);
  const Birth birth =
      score_birth(particle, now, pool.latest(h), sums, scratch.a, scratch.b);
  const double log_join = predictive + birth.log_ratio + std::log(join);
  return {adapted_choice(log_stay, log_join), birth};
}

double extend_adapted(Particle& particle, const Model& model,
                      const CandidatePool& pool, const PriorStep& step,
                      double y, Rng& rng, Scratch& scratch) {
  if (model.response == Response::kProbit) {
    return extend_probit(particle, model, pool, step, y, rng, scratch);
  }
  if (model.response == Response::kStudent) {
    return extend_student(particle, model, pool, step, y, rng, scratch);
  }
  const AdaptedProposal proposal =
      propose_adapted(particle, model, pool, step, y, scratch);
  if (rng.uniform() < proposal.choice.join_probability) {
    append(particle, proposal.birth, scratch.a, scratch.b);
  }
  return proposal.choice.log_weight;
}

double extend_siblings(Particle& particle, const Model& model,
                       const CandidatePool& pool,
                       const std::vector<PriorStep>& steps, Rng& rng,
                       Scratch& scratch) {
  double log_weight = 0;
  for (std::size_t h = 1; h < steps.size(); ++h) {
    const AdaptedProposal proposal = score_adapted(
        particle, model, pool, steps[h], 0, scratch, static_cast<int>(h));
    log_weight += proposal.choice.log_weight;
    if (rng.uniform() < proposal.choice.join_probability) {
      append(particle, proposal.birth, scratch.a, scratch.b);
    }
  }
  return log_weight;
}

std::vector<PriorStep> arrival_steps(const CentrePrior& prior,
                                     const CandidatePool& pool) {
  const int m = pool.size();
  const int more = pool.latest_is_new() ? pool.kernels() : 1;
  std::vector<PriorStep> out;
  for (int h = 1; h <= more; ++h) out.emplace_back(prior, m - more + h);
  return out;
}

}  // namespace srvm
}  // namespace kernelbayes
