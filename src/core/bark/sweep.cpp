#include "sweep.hpp"

#include <algorithm>

namespace kernelbayes {
namespace bark {

const char* move_name(int kind) {
  static const char* const names[kMoveKinds] = {
      "birth_death", "relocate", "local",      "copies",    "rescale",
      "varphi",      "scale_all", "scale_one", "scale_pair", "flip",
      "swap",        "noise",     "temperature"};
  return names[kind];
}

void Sweep::run(State& state, double power, int time, int adapt_until,
                Counts& counts, Rng& rng) {
  const Prior& prior = state.prior();
  const auto note = [&](MoveKind kind, Steps::Kind step, bool moved) {
    counts.note(kind, moved);
    if (time < adapt_until) steps_.adapt(step, moved, time);
  };
  // What a sweep starts from is then a function of slots, scales and noise.
  state.refresh();
  const int slots = std::max(state.size(), 4);
  for (int i = 0; i < slots; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, power, rng));
    counts.note(kVarphi, varphi_move(state, power, 1.5, rng));
  }
  for (int i = 0; i < slots / 2; ++i) {
    counts.note(kRelocate, relocate_move(state, power, rng));
    counts.note(kLocal, local_move(state, power, rng));
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
  if (power == 1) noise_gibbs(state, rng);
}

}  // namespace bark
}  // namespace kernelbayes
