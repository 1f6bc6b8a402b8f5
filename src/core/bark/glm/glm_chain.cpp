#include "glm_chain.hpp"

#include "core/bark/coefficients/moves_of_one.hpp"

namespace kernelbayes::bark {

void glm_sweep(GlmState& state, int rounds, Counts& counts, Rng& rng) {
  // The sweep is then a function of what is stored.
  state.compute();
  if (state.prior().nu == 0) rounds = 0;
  moves_of_one(state, rounds, counts, rng);
  if (state.prior().pooled) move_pool(state, 1, counts, rng);
  counts.note(kCoefficientEllipse, state.move_coefficients(rng));
  state.move_groups(rng);
  state.move_slopes(rng);
  state.move_parameters(rng);
}

void GlmChain::sweep(const Turn&, const Rung&, Counts& counts, Rng& rng) {
  if (model_->prior_only) return state_.draw_prior(rng);
  glm_sweep(state_, kernel_rounds(model_->prior), counts, rng);
}

void GlmChain::record(Draws& draws, Rng&) const {
  draws.kernels.record(state_);
  draws.noise.push_back(state_.likelihood().noise_precision());
  draws.log_likelihood.push_back(state_.log_likelihood());
  // As other families record the scale of noise and cut points.
  const auto append = [](const std::vector<double>& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  const GlmLikelihood& likelihood = state_.likelihood();
  const std::vector<double> cuts = likelihood.cuts();
  append(cuts, draws.cuts);
  if (!model_->data.family->censored && cuts.empty()) {
    append(likelihood.parameters(), draws.parameters);
  }
  draws.terms.add(model_->data.terms, state_.terms(), state_.kernel_mean());
}

}  // namespace kernelbayes::bark
