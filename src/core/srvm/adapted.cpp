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
                              double predictive, Scratch& scratch) {
  const int k = particle.k();
  // A repeated point is no new candidate: the prior does not change.
  if (!pool.latest_is_new()) return {{predictive, 0}, {}};

  const double log_stay = predictive + std::log(step.stay(k));
  const double join = step.join(k);
  if (join == 0) return {{log_stay, 0}, {}};

  const Likelihood now(particle, model, pool.rows(),
                       squared_responses(particle, model, pool));
  const CandidateSums sums = own_sums(
      particle, model, pool, pool.latest(),
      pool.gather_latest(particle.set, model.intercept, scratch.a), scratch.a);
  const Birth birth = score_birth(particle, now, pool.latest(), sums,
                                  scratch.a, scratch.b);
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

}  // namespace srvm
}  // namespace kernelbayes
