#include "adapted.hpp"

#include <cmath>

#include "latent.hpp"
#include "likelihood.hpp"

namespace kernelbayes::srvm {

AdaptedChoice adapted_choice(double log_stay, double log_join) {
  const double difference = log_join - log_stay;
  if (difference > 0) {
    const double ratio = std::exp(-difference);
    return {log_join + std::log1p(ratio), 1 / (1 + ratio)};
  }
  const double ratio = std::exp(difference);
  return {log_stay + std::log1p(ratio), ratio / (1 + ratio)};
}

namespace {

// The factors of the priors of S and S + t: when t becomes a candidate, (S5),
// or after all candidates of the row have, (S4).
struct PriorChange {
  double stay, join;
};
PriorChange prior_change(const Model& model, const CandidatePool& pool,
                         const std::vector<PriorStep>& steps, int h, int k,
                         bool first) {
  // A repeated point is not a new candidate: the prior does not change.
  if (!pool.latest_is_new()) return {1, 0};
  if (first) return {steps[h].stay(k), steps[h].join(k)};
  const int m = pool.size();
  const bool full = k >= model.centres.limit(m);
  return {1, full ? 0 : model.centres.odds(k, m)};
}

// The latest row's candidate with the h-th kernel, which is not in the set:
// logs of the change of the prior for S, and of p(S + t) L(S + t) / [p(S) L(S)]
// (-infinity if it cannot join), with the gram entries and the row of the
// factor for the birth. `power` is that of the row in the particle's factor.
struct Entry {
  double log_stay, log_join;
  Birth birth;
};
Entry score_entry(const Particle& particle, const Model& model,
                  const CandidatePool& pool, const PriorChange& prior, int h,
                  double power, std::vector<double>& gram,
                  std::vector<double>& row) {
  if (prior.join == 0) return {std::log(prior.stay), -HUGE_VAL, {}};
  const Likelihood now(particle, model, pool.rows(),
                       squared_responses(particle, model, pool));
  const CandidateSums shared =
      particle.own.any()
          ? particle.own.gather(pool, pool.latest(h), power, gram)
          : pool.gather_latest(particle.set, gram, h, power);
  const CandidateSums sums =
      own_sums(particle, model, pool, pool.latest(h), shared, gram, power);
  const Birth birth =
      score_birth(particle, now, pool.latest(h), sums, gram, row);
  return {std::log(prior.stay),
          std::log(prior.join / prior.stay) + birth.log_ratio, birth};
}

void take_out(Particle& particle, const Model& model, int candidate,
              Scratch& scratch) {
  const auto& set = particle.set;
  const auto found = std::find(set.begin(), set.end(), candidate);
  if (found == set.end()) return;
  erase(particle, static_cast<int>(found - set.begin()), model.fixed(),
        scratch.a);
}

// log(1 + w exp(log_join))
double log_pair(double log_join, double power) {
  if (power == 0 || log_join == -HUGE_VAL) return 0;
  return log_add(0, log_join + std::log(power));
}

}  // namespace

void score_adapted(Particle& particle, const Model& model,
                   const CandidatePool& pool,
                   const std::vector<PriorStep>& steps, Scratch& scratch,
                   Arrival& arrival) {
  const bool fresh = pool.latest_is_new();
  if (pool.power() > 0 && fresh) {
    take_out(particle, model, pool.latest(), scratch);
  }
  score_row(particle, model, pool, scratch, arrival);
  if (!fresh) return;
  const int p = particle.gram.size();
  arrival.g.resize(p);
  arrival.h.resize(p);
  const double held = model.latent() ? 0 : pool.power();
  const PriorChange prior =
      prior_change(model, pool, steps, 0, particle.k(), arrival.first());
  const Entry entry =
      score_entry(particle, model, pool, prior, 0, held, arrival.g, arrival.h);
  arrival.log_stay = entry.log_stay;
  arrival.log_join = entry.log_join;
  if (entry.log_join == -HUGE_VAL) return;
  arrival.birth = entry.birth;
  // Appends an entry to the design row, and one to L^-1 of it (in scratch.a).
  double last = latest_value_of(particle, pool, pool.latest());
  for (int j = 0; j < p; ++j) last -= arrival.h[j] * scratch.a[j];
  last /= entry.birth.pivot;
  arrival.join = {arrival.stay.mean + last * entry.birth.z,
                  arrival.stay.variance + last * last};
  if (!arrival.first()) arrival.log_before = arrival.log_both(arrival.power);
}

// (S23), (S24).
double extend_adapted(Particle& particle, const Model& model,
                      const CandidatePool& pool, const Arrival& arrival,
                      Rng& rng, Scratch& scratch) {
  const EnteringRow row(arrival, pool.power(), rng);
  const double z = arrival.birth.z;
  AdaptedChoice choice{arrival.log_stay + row.log_density(arrival.stay), 0};
  if (arrival.log_join != -HUGE_VAL) {
    choice = adapted_choice(choice.log_weight,
                            arrival.log_stay + arrival.log_join +
                                std::log(pool.power()) +
                                row.log_density(arrival.join, z * z));
  }
  const bool joins = rng.uniform() < choice.join_probability;
  if (joins) append(particle, arrival.birth, arrival.g, arrival.h);
  row.enter(particle, model, pool, joins ? arrival.join : arrival.stay, rng,
            scratch);
  return choice.log_weight - arrival.log_before;
}

// (S25).
double extend_siblings(Particle& particle, const Model& model,
                       const CandidatePool& pool,
                       const std::vector<PriorStep>& steps, double from,
                       Rng& rng, Scratch& scratch) {
  double log_weight = 0;
  for (int h = 1; h < static_cast<int>(steps.size()); ++h) {
    if (from > 0) take_out(particle, model, pool.latest(h), scratch);
    const PriorChange prior =
        prior_change(model, pool, steps, h, particle.k(), from == 0);
    const Entry entry = score_entry(particle, model, pool, prior, h,
                                    pool.power(), scratch.a, scratch.b);
    const double log_now = log_pair(entry.log_join, pool.power());
    log_weight += entry.log_stay + log_now - log_pair(entry.log_join, from);
    if (rng.uniform() < -std::expm1(-log_now)) {
      append(particle, entry.birth, scratch.a, scratch.b);
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

}  // namespace kernelbayes::srvm
