#pragma once

#include "particle.hpp"

namespace kernelbayes {
namespace srvm {

/// The adapted proposal: the new candidate joins the set or does not, with
/// the probabilities that the target gives the two. Every set then has one
/// possible ancestor and the weight is a0 + a1, whatever was drawn.
struct AdaptedChoice {
  double log_weight;        // log(a0 + a1)
  double join_probability;  // a1 / (a0 + a1)
};

/// From log a0 = log DL(S') + log stay and log a1 = log DL(S' + t) + log join.
AdaptedChoice adapted_choice(double log_stay, double log_join);

/// Takes in the latest row of the pool and scores the choice; `birth` is the
/// new candidate's, with its gram entries and factor row in the scratch.
struct AdaptedProposal {
  AdaptedChoice choice;
  Birth birth;
};
AdaptedProposal propose_adapted(Particle& particle, const Model& model,
                                const CandidatePool& pool,
                                const PriorStep& step, double y,
                                Scratch& scratch);

/// The scores once the row is taken in, its predictive density being that;
/// the new candidate with kernel h.
AdaptedProposal score_adapted(const Particle& particle, const Model& model,
                              const CandidatePool& pool, const PriorStep& step,
                              double predictive, Scratch& scratch, int h = 0);

/// The same where a row has a latent variable: Student's weight omega is drawn
/// before the choice, from a mixture q of its prior p and of its conditional
/// given the residual, and the log weight carries log p(omega) / q(omega);
/// probit's response is drawn after the choice.
double extend_student(Particle& particle, const Model& model,
                      const CandidatePool& pool, const PriorStep& step,
                      double y, Rng& rng, Scratch& scratch);
double extend_probit(Particle& particle, const Model& model,
                     const CandidatePool& pool, const PriorStep& step, double y,
                     Rng& rng, Scratch& scratch);

/// Proposes, draws the choice and carries it out; returns the log weight.
double extend_adapted(Particle& particle, const Model& model,
                      const CandidatePool& pool, const PriorStep& step,
                      double y, Rng& rng, Scratch& scratch);

/// A row that is a candidate with several kernels comes in as that with the
/// first, as above. Each of the others then is a step of its own in which no
/// data come in: the candidate joins or does not, given those before it, with
///   a0 = stay(k),  a1 = join(k) L_t(S + j) / L_t(S)
/// of the step that makes one candidate more. `steps` are those of the prior by
/// kernel; returns the log of the product of the weights a0 + a1.
double extend_siblings(Particle& particle, const Model& model,
                       const CandidatePool& pool,
                       const std::vector<PriorStep>& steps, Rng& rng,
                       Scratch& scratch);

/// The prior's steps as the latest row becomes a candidate, by kernel; one that
/// nobody uses where it does not.
std::vector<PriorStep> arrival_steps(const CentrePrior& prior,
                                     const CandidatePool& pool);

}  // namespace srvm
}  // namespace kernelbayes
