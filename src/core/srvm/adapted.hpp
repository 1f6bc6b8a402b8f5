#pragma once

#include "arrival.hpp"

namespace kernelbayes::srvm {

/// The adapted proposal: the new candidate joins the set or not, with the
/// probabilities under the target. Every set then has one possible ancestor,
/// and the weight is a0 + a1, whatever was drawn.
struct AdaptedChoice {
  double log_weight;        // log(a0 + a1)
  double join_probability;  // a1 / (a0 + a1)
};

/// From log a0 = log DL(S') + log stay and log a1 = log DL(S' + t) + log join.
AdaptedChoice adapted_choice(double log_stay, double log_join);

/// Scores the next increase of the latest row's power, after taking its
/// candidate out of the set.
void score_adapted(Particle& particle, const Model& model,
                   const CandidatePool& pool,
                   const std::vector<PriorStep>& steps, Scratch& scratch,
                   Arrival& arrival);

/// Draws S or S + t and updates the particle, with the row raised to its power
/// in the pool; returns the log weight.
double extend_adapted(Particle& particle, const Model& model,
                      const CandidatePool& pool, const Arrival& arrival,
                      Rng& rng, Scratch& scratch);

/// A row that is a candidate with several kernels enters with the first, as
/// above. Each of the others then gets a separate choice, in which no data
/// enter: the candidate joins or not, given the earlier ones, with
///   a0 = stay(k),  a1 = w join(k) L_t(S + j) / L_t(S)
/// of the step that adds one candidate. `steps` are those of the prior by
/// kernel; `from` is the power before. Returns the log weight.
double extend_siblings(Particle& particle, const Model& model,
                       const CandidatePool& pool,
                       const std::vector<PriorStep>& steps, double from,
                       Rng& rng, Scratch& scratch);

/// The steps of the prior when the latest row becomes a candidate, by kernel;
/// one unused step if it does not.
std::vector<PriorStep> arrival_steps(const CentrePrior& prior,
                                     const CandidatePool& pool);

}  // namespace kernelbayes::srvm
