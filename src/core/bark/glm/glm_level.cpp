#include "glm_level.hpp"

#include <stdexcept>

#include "core/bark/coefficients/moves_of_one.hpp"

namespace kernelbayes::bark {

void glm_sweep(GlmState& state, int rounds, Counts& counts, Rng& rng) {
  // The sweep is then a function of what is stored.
  state.compute();
  if (state.prior().nu == 0) rounds = 0;
  for (int i = 0; i < rounds; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, rng));
    counts.note(kRelocate, relocate_move(state, rng));
    counts.note(kLocal, local_move(state, rng));
    if (i % 2 == 0) scales_of_one(state, 1, counts, rng);
  }
  if (state.prior().pooled) move_pool(state, 1, counts, rng);
  counts.note(kCoefficientEllipse, state.move_coefficients(rng));
  state.move_groups(rng);
  state.move_slopes(rng);
  state.move_parameters(rng);
}

void GlmDraws::transfer(Archive& archive) {
  kernels.transfer(archive, model->prior);
  archive("noise", noise);
  archive("log_likelihood", log_likelihood, Want::anything());
  archive("parameters", parameters);
  if (model->data.family->cuts) archive("cuts", cuts);
  terms.transfer(archive);
}

// Without kernels f is the offset: nothing overflows, and births are informed.
GlmLevel::GlmLevel(const Model& model, int, Rng& rng)
    : model_(&model), state_(model.data, model.prior) {
  if (model.prior_only) state_.draw_prior(rng);
}

void GlmLevel::sweep(const Turn&, Counts& counts, Rng& rng) {
  if (model_->prior_only) return state_.draw_prior(rng);
  glm_sweep(state_, kernel_rounds(model_->prior), counts, rng);
}

void GlmLevel::record(Draws& draws, Rng&) const {
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

double GlmLevel::observe() const {
  throw std::logic_error("this sampler has no ladder");
}

}  // namespace kernelbayes::bark
