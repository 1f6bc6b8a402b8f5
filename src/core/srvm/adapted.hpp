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

/// The scores once the row is taken in, its predictive density being that.
AdaptedProposal score_adapted(const Particle& particle, const Model& model,
                              const CandidatePool& pool, const PriorStep& step,
                              double predictive, Scratch& scratch);

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

}  // namespace srvm
}  // namespace kernelbayes
