#include "birth_death.hpp"

#include <algorithm>
#include <cmath>
#include <kernelbayes/transdim_law.hpp>

#include "likelihood.hpp"
#include "moves.hpp"
#include "spread.hpp"

namespace kernelbayes::srvm {

namespace {

using Kind = BirthDeathStep::Kind;

int size_after(int k, Kind kind) {
  return k + (kind == Kind::kBirth) - (kind == Kind::kDeath);
}

// log p_t(S) / p_{t-1}(S').
double log_prior_ratio(const CentrePrior& centres, const PriorStep& prior,
                       int k, CandidateCounts m, Kind kind) {
  double ratio = m.grown() ? prior.stay(k) : 1;
  if (kind == Kind::kBirth) ratio *= centres.odds(k, m.now);
  if (kind == Kind::kDeath) ratio /= centres.odds(k - 1, m.now);
  return std::log(ratio);
}

// alpha'(S) q'(S' | S), with S of size k among the candidates of t - 1: before
// (S31).
double reverse_probability(const Config& config, int k, CandidateCounts m,
                           const BirthDeathStep& step) {
  const bool joined =
      m.grown() && step.kind == Kind::kBirth && step.which == m.now - 1;
  if (joined) return 1;
  const double b = birth_probability(config, k, m.before);
  const double d = death_probability(config, k);
  switch (step.kind) {
    case Kind::kBirth:
      return d / k;
    case Kind::kDeath:
      return b / (m.before - k);
    default:
      return 1 - b - d;
  }
}

// (S32), as printed: DL lambda^(k - k') (k' - 1)! / (k - 1)! / q, (-1)! = 1.
double log_printed_factor(const CentrePrior& centres, int k, int m, Kind kind) {
  // lambda / k is the odds of one more centre; for the last one k is 0 or 1.
  if (kind == Kind::kBirth) {
    return std::log(centres.lambda() / std::max(k, 1) * (m - k));
  }
  if (kind == Kind::kDeath) {
    return std::log(std::max(k - 1, 1) / centres.lambda() * k);
  }
  return 0;
}

// Carries out a step at t; returns log L_t(S) - log L_t(S').
double carry_out(Particle& particle, const Config& config,
                 const CandidatePool& pool, const BirthDeathStep& step,
                 Rng& rng, Scratch& scratch) {
  if (step.kind == Kind::kZero) return 0;
  const Likelihood now(particle, config.model, pool.rows(),
                       pool.response_squares());
  if (step.kind == Kind::kBirth) {
    offer_spread(particle, config.model, rng);
    const Birth birth =
        propose_birth(particle, config, pool, now, step.which, scratch);
    append(particle, birth, scratch.a, scratch.b);
    return birth.log_ratio;
  }
  const int fixed = config.model.fixed();
  const Death death = score_death(particle, now, step.which, fixed, scratch.a);
  erase(particle, step.which, fixed, scratch.a);
  return death.log_ratio;
}

}  // namespace

MoveProbabilities forward_probabilities(const Config& config, int k, int m) {
  const bool forced = config.proposal == Proposal::kPaper && k == 0 &&
                      config.model.centres.limit(m) > 0;
  if (forced) return {1, 0};
  return {birth_probability(config, k, m), death_probability(config, k)};
}

double step_probability(const Config& config, int k, int m,
                        const BirthDeathStep& step) {
  const MoveProbabilities alpha = forward_probabilities(config, k, m);
  switch (step.kind) {
    case Kind::kBirth:
      return alpha.birth / (m - k);
    case Kind::kDeath:
      return alpha.death / k;
    default:
      return alpha.zero();
  }
}

// (S31), by (T1); (S32).
double log_step_factor(const Config& config, const PriorStep& prior, int k,
                       CandidateCounts m, const BirthDeathStep& step) {
  const CentrePrior& centres = config.model.centres;
  if (config.proposal == Proposal::kPaper) {
    return log_printed_factor(centres, k, m.now, step.kind);
  }
  // There are finitely many steps: alpha q is a probability.
  const MoveChoice forward{step_probability(config, k, m.now, step)};
  const MoveChoice reverse{
      reverse_probability(config, size_after(k, step.kind), m, step)};
  const double prior_ratio = log_prior_ratio(centres, prior, k, m, step.kind);
  return log_general_weight(prior_ratio, reverse, forward);
}

// A uniformly chosen candidate outside the set.
int draw_blindly(const std::vector<int>& set, const CandidatePool& pool,
                 Rng& rng) {
  for (;;) {
    const int j = pool.candidate(rng.index(pool.size()));
    if (std::find(set.begin(), set.end(), j) == set.end()) return j;
  }
}

BirthDeathStep draw_step(const Particle& particle, const Config& config,
                         const CandidatePool& pool, Rng& rng) {
  const int k = particle.k();
  const MoveProbabilities alpha = forward_probabilities(config, k, pool.size());
  const double u = rng.uniform();
  if (u < alpha.birth) {
    return {Kind::kBirth, draw_blindly(particle.set, pool, rng)};
  }
  if (u < alpha.birth + alpha.death) {
    return {Kind::kDeath, static_cast<int>(rng.index(k))};
  }
  return {};
}

double take_step(Particle& particle, const Config& config,
                 const CandidatePool& pool, const PriorStep& prior,
                 const Arrival& arrival, const BirthDeathStep& step, Rng& rng,
                 Scratch& scratch) {
  const double factor = log_step_factor(config, prior, particle.k(),
                                        candidate_counts(pool), step);
  const EnteringRow row(arrival, pool.power(), rng);
  row.enter(particle, config.model, pool, arrival.stay, rng, scratch);
  return factor + row.log_density(arrival.stay) +
         carry_out(particle, config, pool, step, rng, scratch);
}

double extend_birth_death(Particle& particle, const Config& config,
                          const CandidatePool& pool, const PriorStep& prior,
                          const Arrival& arrival, Rng& rng, Scratch& scratch) {
  if (arrival.first()) {
    return take_step(particle, config, pool, prior, arrival,
                     draw_step(particle, config, pool, rng), rng, scratch);
  }
  const EnteringRow row(arrival, pool.power(), rng);
  row.enter(particle, config.model, pool, arrival.stay, rng, scratch);
  return row.log_density(arrival.stay) - arrival.log_before;
}

// (S19).
bool birth_move(Particle& particle, const Config& config,
                const CandidatePool& pool, const CandidateChoice& choice,
                Rng& rng, Scratch& scratch) {
  const int m = pool.size();
  if (particle.k() >= config.model.centres.limit(m)) return false;
  const int j = choice.draw_outside(particle.set, rng);
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  offer_spread(particle, config.model, rng);
  const Birth birth =
      propose_birth(particle, config, pool, likelihood, j, scratch);
  ++particle.moves.tried[0];
  const double log_odds = log_prior_odds(config, particle.k(), m) +
                          pool.log_odds(j) + choice.log_birth(particle.set, j);
  if (!accept(birth.log_ratio + log_odds, rng)) return false;
  append(particle, birth, scratch.a, scratch.b);
  ++particle.moves.accepted[0];
  return true;
}

// (S19).
bool death_move(Particle& particle, const Config& config,
                const CandidatePool& pool, const CandidateChoice& choice,
                Rng& rng, Scratch& scratch) {
  if (particle.k() == 0) return false;
  const int i = choice.draw_place(particle.set, rng);
  const int fixed = config.model.fixed();
  const Likelihood likelihood(particle, config.model, pool.rows(),
                              squared_responses(particle, config.model, pool));
  const Death death = score_death(particle, likelihood, i, fixed, scratch.a);
  ++particle.moves.tried[1];
  const double log_odds =
      log_prior_odds(config, particle.k() - 1, pool.size()) +
      pool.log_odds(particle.set[i]);
  const double log_proposals = choice.log_death(particle.set, i);
  if (!accept(death.log_ratio - log_odds + log_proposals, rng)) return false;
  erase(particle, i, fixed, scratch.a);
  ++particle.moves.accepted[1];
  return true;
}

}  // namespace kernelbayes::srvm
