#include "glm_level.hpp"

#include <algorithm>
#include <stdexcept>

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

const char* glm_move_name(int kind) {
  static const char* const names[kGlmMoves] = {
      "birth_death",   "relocate",   "local", "scale_all", "scale_one",
      "scale_refresh", "scale_pair", "flip",  "swap",      "ellipse"};
  return names[kind];
}

int glm_rounds(const Prior& prior) {
  return static_cast<int>(std::min(std::max(prior.nu, 4.0), 50.0));
}

namespace {

void scales(GlmState& state, GlmCounts& counts, Rng& rng) {
  const Prior& prior = state.prior();
  const auto step = [&rng] { return std::exp2(1 - 3 * rng.uniform()); };
  counts.note(kGlmScaleAll, scale_all_move(state, 1, step(), rng));
  if (!prior.equal()) {
    counts.note(kGlmScaleOne, scale_any_move(state, 1, step(), rng));
    counts.note(kGlmScaleRefresh, scale_refresh_move(state, 1, rng));
    counts.note(kGlmScalePair, scale_pair_move(state, 1, rng));
  }
  if (!prior.selects()) return;
  counts.note(kGlmFlip, flip_move(state, 1, rng));
  counts.note(kGlmSwap, swap_move(state, 1, rng));
}

}  // namespace

void glm_sweep(GlmState& state, int rounds, GlmCounts& counts, Rng& rng) {
  if (state.prior().nu == 0) rounds = 0;
  for (int i = 0; i < rounds; ++i) {
    counts.note(kGlmBirthDeath, birth_death_move(state, rng));
    counts.note(kGlmRelocate, relocate_move(state, rng));
    counts.note(kGlmLocal, local_move(state, rng));
    scales(state, counts, rng);
  }
  counts.note(kGlmEllipse, state.move_coefficients(rng));
  state.move_parameters(rng);
}

void GlmDraws::transfer(Archive& archive) {
  kernels.transfer(archive, model->prior);
  archive("noise", noise);
  archive("log_likelihood", log_likelihood, Want::anything());
  archive("parameters", parameters);
  terms.transfer(archive);
}

// Without kernels f is the offset: nothing overflows, and births are informed.
GlmLevel::GlmLevel(const Model& model, int, Rng& rng)
    : model_(&model), state_(model.data, model.prior) {
  if (model.prior_only) state_.draw_prior(rng);
}

void GlmLevel::sweep(const Turn&, Counts& counts, Rng& rng) {
  if (model_->prior_only) return state_.draw_prior(rng);
  glm_sweep(state_, glm_rounds(model_->prior), counts, rng);
}

void GlmLevel::record(Draws& draws, Rng&) const {
  draws.kernels.record(state_);
  draws.noise.push_back(1);
  draws.log_likelihood.push_back(state_.log_likelihood());
  for (const double v : state_.likelihood().parameters()) {
    draws.parameters.push_back(v);
  }
  for (const double v : state_.gamma()) draws.terms.gamma.push_back(v);
  draws.terms.level.push_back(state_.kernel_mean());
}

double GlmLevel::observe() const {
  throw std::logic_error("this sampler has no ladder");
}

}  // namespace bark
}  // namespace kernelbayes
