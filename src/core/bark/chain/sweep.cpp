#include "sweep.hpp"

#include <algorithm>

#include "core/bark/coefficients/moves_of_one.hpp"
#include "core/bark/moves/candidates.hpp"

namespace kernelbayes::bark {

const char* move_name(int kind) {
  static const char* const names[kMoveKinds] = {"birth_death",
                                                "relocate",
                                                "local",
                                                "gather",
                                                "copies",
                                                "rescale",
                                                "varphi",
                                                "coefficient",
                                                "walk",
                                                "sign",
                                                "ellipse",
                                                "scale_all",
                                                "scale_one",
                                                "scale_refresh",
                                                "scale_pair",
                                                "flip",
                                                "swap",
                                                "noise",
                                                "magnitude",
                                                "temperature",
                                                "cuts",
                                                "rotate",
                                                "redirect",
                                                "pool_shift",
                                                "pool_stretch",
                                                "cluster",
                                                "cluster_leave",
                                                "open_coefficient",
                                                "open_birth_death",
                                                "open_relocate",
                                                "open_local",
                                                "open_scale",
                                                "open_flip",
                                                "trajectory",
                                                "ellipse"};
  return names[kind];
}

void Steps::transfer(Archive& archive) {
  std::vector<One> shared{all, noise, magnitude, trajectory};
  transfer(archive, "shared", shared);
  all = shared[0];
  noise = shared[1];
  magnitude = shared[2];
  trajectory = shared[3];
  transfer(archive, "scales", scales);
  transfer(archive, "cuts", cuts);
  transfer(archive, "directions", directions);
}

void Steps::transfer(Archive& archive, const char* name,
                     std::vector<One>& steps) {
  archive.within(name, [&steps](Archive& list) {
    list.each<double>("log_length", steps,
                      [](One& one) -> double& { return one.log_length; });
    list.each<int>(
        "times", steps, [](One& one) -> int& { return one.times; },
        Want::tally());
  });
}

double tempered(const State& state, const Rung& rung) {
  if (rung.power == 0) return 0;  // also if it is infinite
  return rung.power * state.log_likelihood_at(rung.amplitude);
}

void enter(State& state, const Rung& rung, Rng&) {
  if (state.amplitude() == rung.amplitude) return;
  state.set_amplitude(rung.amplitude);
}

int kernel_rounds(const Prior& prior) {
  return static_cast<int>(std::min(std::max(prior.nu, 4.0), 50.0));
}

Sweep::Sweep(const Prior& prior, const Data& data)
    : kernels_(kernel_rounds(prior)),
      scales_(prior.equal() ? 0 : std::min(prior.n_inputs(data.p()), 10)),
      turns_(std::min(prior.directions * (data.p() - 1), 10)) {
  steps_.scales.assign(prior.n_inputs(data.p()), {0});
  steps_.directions.assign(prior.directions, {-1});
  if (data.ordered()) steps_.cuts.assign(data.classes - 2, {-1});
}

void Sweep::transfer(Archive& archive) {
  steps_.transfer(archive);
  archive.optional(rounds_ > 0, "rounds", rounds_, Want::between(1, 1e6));
}

bool Sweep::full_kernels(State& state, double power, bool adapt, Counts& counts,
                         Rng& rng) {
  if (backfits(state, power) && backfit(state, adapt, counts, rng)) {
    return !state.data().terms.any();
  }
  // The start of a sweep is then a function of slots, scales and noise.
  state.refresh();
  if (state.prior().nu == 0) return false;
  kernels(state, power, counts, rng);
  // With their own scales most candidates are far from what the data want.
  if (!state.prior().own_scales) gather(state, power, counts, rng);
  if (state.prior().own_scales) {
    own_scales(state, power, counts, rng);
  } else {
    shared_scales(state, power, scales_, adapt, steps_, counts, rng);
  }
  directions(state, power, adapt, counts, rng);
  return false;
}

void Sweep::full(State& state, double power, bool adapt, Counts& counts,
                 Rng& rng) {
  const bool noise_drawn = full_kernels(state, power, adapt, counts, rng);
  if (state.data().terms.any()) {
    return terms(state, power, adapt, true, counts, rng);
  }
  if (noise_drawn) return;
  noise(state, power, adapt, counts, rng);
  if (power == 1) noise_gibbs(state, rng);
  response(state, power, adapt, counts, rng);
  if (power == 1 && state.data().latent()) {
    open(state, class_intervals(state), adapt, counts, rng);
  }
}

void Sweep::kernels(State& state, double power, Counts& counts, Rng& rng) {
  for (int i = 0; i < kernels_; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, power, rng));
    counts.note(kVarphi, varphi_move(state, power, kVarphiStep, rng));
  }
  for (int i = 0; i < kernels_ / 2; ++i) {
    counts.note(kRelocate, relocate_move(state, power, rng));
    counts.note(kLocal, local_move(state, power, rng));
    if (state.prior().shaped()) continue;
    counts.note(kCopies, copies_move(state, power, rng));
    counts.note(kRescale, rescale_move(state, power, rng));
  }
}

void Sweep::gather(State& state, double power, Counts& counts, Rng& rng) {
  const int m = state.size();
  if (m == 0 || m >= Candidates::kSize) return;
  Candidates candidates(state, Candidates::kSize, rng);
  for (int i = 0; i < 2 * kernels_; ++i) {
    const int j = static_cast<int>(rng.index(m));
    counts.note(kGather, candidates.relocate(state, j, power, rng));
  }
}

// Half as many as births and deaths: twice as many took longer, and changed
// neither errors nor densities of the nine sets of `tuning` in the league.
void Sweep::own_scales(State& state, double power, Counts& counts, Rng& rng) {
  const Prior& prior = state.prior();
  for (int i = 0; i < kernels_ / 2; ++i) {
    scales_of_one(state, power, counts, rng);
  }
  if (prior.pooled) move_pool(state, power, counts, rng);
  if (!prior.clustered()) return;
  for (int i = 0; i < kernels_; ++i) {
    counts.note(kCluster, cluster_move(state, power, rng));
    counts.note(kClusterLeave, leave_move(state, power, random_step(rng), rng));
  }
  concentration_move(state, rng);
}

void Sweep::directions(State& state, double power, bool adapt, Counts& counts,
                       Rng& rng) {
  if (state.prior().directions == 0) return;
  for (int i = 0; i < turns_; ++i) rotate(state, power, adapt, counts, rng);
  counts.note(kRedirect, redirect_move(state, power, rng));
}

void Sweep::rotate(State& state, double power, bool adapt, Counts& counts,
                   Rng& rng) {
  constexpr double kLongest = 3;  // about half of the circle
  const int l = static_cast<int>(rng.index(state.prior().directions));
  if (!state.included()[l]) return;
  Steps::One& step = steps_.directions[l];
  const double length = std::min(step.length(), kLongest);
  const bool moved = rotate_move(state, l, power, length, rng);
  counts.note(kRotate, moved, step, adapt);
}

void Sweep::noise(State& state, double power, bool adapt, Counts& counts,
                  Rng& rng) {
  if (state.data().latent()) return;
  const bool moved = noise_move(state, power, steps_.noise.length(), rng);
  counts.note(kNoise, moved, steps_.noise, adapt);
}

// Numbers have their noise drawn with the terms. Moves of latent responses are
// given the terms.
void Sweep::terms(State& state, double power, bool adapt, bool full,
                  Counts& counts, Rng& rng) {
  if (power == 1) {
    if (!state.data().latent()) return terms_move(state, rng);
    latent_scale_move(state, rng);
    if (!fix_terms(state, rng)) return;
    latent(state, adapt, counts, rng);
    if (full) open(state, class_intervals(state), adapt, counts, rng);
    return release_terms(state, rng);
  }
  if (power > 0) return tempered_terms_move(state, power, rng);
  const Prior& prior = state.prior();
  if (!prior.noise_fixed) {
    state.set_noise(prior.draw_noise(0, 0, rng));
  }
  draw_prior_df(state, rng);
  draw_prior_cuts(state, rng);
  draw_prior_terms(state, rng);
}

// Other parts of the response model than f and its noise.
void Sweep::response(State& state, double power, bool adapt, Counts& counts,
                     Rng& rng) {
  if (power == 1) {
    row_weights_move(state, rng);
    latent(state, adapt, counts, rng);
  } else if (power == 0) {
    draw_prior_cuts(state, rng);
    draw_prior_df(state, rng);
  }
}

void Sweep::latent(State& state, bool adapt, Counts& counts, Rng& rng) {
  if (!state.data().latent()) return;
  latent_move(state, rng);
  latent_scale_move(state, rng);
  if (state.size() > 0) {
    const bool moved = magnitude_move(state, steps_.magnitude.length(), rng);
    counts.note(kMagnitude, moved, steps_.magnitude, adapt);
  }
  cuts(state, adapt, counts, rng);
}

void Sweep::cuts(State& state, bool adapt, Counts& counts, Rng& rng) {
  std::vector<double> lengths;
  for (const Steps::One& step : steps_.cuts) lengths.push_back(step.length());
  const std::vector<char> moved = cuts_move(state, lengths, rng);
  for (std::size_t k = 0; k < moved.size(); ++k) {
    counts.note(kCuts, moved[k], steps_.cuts[k], adapt);
  }
}

// Without f, few iterations are enough for row weights and noise, or cut
// points.
void Sweep::lowest(State& state, bool adapt, Rng& rng) {
  constexpr int kTurns = 5;
  const double phi = state.noise();
  draw_prior(state, rng);
  draw_prior_terms(state, rng);
  if (state.data().student()) {
    state.propose_noise(phi);
    state.accept_proposal();
    for (int i = 0; i < kTurns; ++i) {
      row_weights_move(state, rng);
      noise_gibbs(state, rng);
    }
  } else if (state.data().ordered()) {
    Counts counts;
    for (int i = 0; i < kTurns; ++i) cuts(state, adapt, counts, rng);
  }
  if (state.data().latent()) draw_latent(state, rng);
}

void Sweep::single_kernels(State& state, double power, bool adapt,
                           Counts& counts, Rng& rng) {
  if (state.prior().nu == 0) return;
  if (rng.index(3) < 2) {
    counts.note(kBirthDeath, birth_death_move(state, power, rng));
  } else {
    counts.note(kVarphi, varphi_move(state, power, kVarphiStep, rng));
  }
  if (rng.uniform() < 0.2) {
    if (state.prior().own_scales) {
      own_scales(state, power, counts, rng);
    } else if (scales_ > 0) {
      scale_one(state, power, adapt, steps_, counts, rng);
    } else {
      scale_all(state, power, adapt, steps_, counts, rng);
    }
    if (state.prior().selects() && !state.prior().own_scales) {
      counts.note(kFlip, flip_move(state, power, rng));
    }
    if (state.prior().directions > 0) {
      rotate(state, power, adapt, counts, rng);
      counts.note(kRedirect, redirect_move(state, power, rng));
    }
  }
}

void Sweep::single(State& state, double power, bool adapt, Counts& counts,
                   Rng& rng) {
  single_kernels(state, power, adapt, counts, rng);
  if (state.data().terms.any()) {
    return terms(state, power, adapt, false, counts, rng);
  }
  noise(state, power, adapt, counts, rng);
  response(state, power, adapt, counts, rng);
}

}  // namespace kernelbayes::bark
