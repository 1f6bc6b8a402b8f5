#include "sweep.hpp"

#include <algorithm>

namespace kernelbayes {
namespace bark {

const char* move_name(int kind) {
  static const char* const names[kMoveKinds] = {
      "birth_death", "relocate",   "copies", "rescale", "varphi", "scale_all",
      "scale_one",   "scale_pair", "flip",   "swap",    "noise",
      "magnitude",   "temperature"};
  return names[kind];
}

double tempered(const State& state, const Rung& rung) {
  return rung.power * state.log_likelihood_at(rung.amplitude);
}

bool exchange(State& one, const Rung& at_one, State& other,
              const Rung& at_other, Rng& rng) {
  const double log_ratio = tempered(one, at_other) + tempered(other, at_one) -
                           tempered(one, at_one) - tempered(other, at_other);
  if (!accept(log_ratio, rng)) return false;
  std::swap(one, other);
  if (at_one.amplitude != at_other.amplitude) {
    one.set_amplitude(at_one.amplitude);
    other.set_amplitude(at_other.amplitude);
  }
  return true;
}

void Sweep::run(State& state, const Rung& rung, int time, int adapt_until,
                Counts& counts, Rng& rng) {
  const double power = rung.power;
  const Prior& prior = state.prior();
  const auto note = [&](MoveKind kind, Steps::Kind step, bool moved) {
    counts.note(kind, moved);
    if (time < adapt_until) steps_.adapt(step, moved, time);
  };
  const int slots = std::max(state.size(), 4);
  for (int i = 0; i < slots; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, power, rng));
    counts.note(kVarphi, varphi_move(state, power, 1.5, rng));
  }
  for (int i = 0; i < slots / 2; ++i) {
    counts.note(kRelocate, relocate_move(state, power, rng));
    counts.note(kCopies, copies_move(state, power, rng));
    counts.note(kRescale, rescale_move(state, power, rng));
  }
  note(kScaleAll, Steps::kAll,
       scale_all_move(state, power, steps_.length(Steps::kAll), rng));
  if (!prior.equal()) {
    const int times = std::min(state.data().p(), 10);
    for (int i = 0; i < times; ++i) {
      note(kScaleOne, Steps::kOne,
           scale_one_move(state, power, steps_.length(Steps::kOne), rng));
    }
    counts.note(kScalePair, scale_pair_move(state, power, rng));
  }
  if (prior.selects()) {
    counts.note(kFlip, flip_move(state, power, rng));
    counts.note(kFlip, flip_move(state, power, rng));
    counts.note(kSwap, swap_move(state, power, rng));
  }
  note(kNoise, Steps::kNoise,
       noise_move(state, power, steps_.length(Steps::kNoise), rng));
  if (power == 1) {
    noise_gibbs(state, rng);
    latent_move(state, rng);
    latent_scale_move(state, rng);
    note(kMagnitude, Steps::kMagnitude,
         magnitude_move(state, steps_.length(Steps::kMagnitude), rng));
  }
}

}  // namespace bark
}  // namespace kernelbayes
