#include "chain.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"

namespace kernelbayes {
namespace bark {

const char* move_name(int kind) {
  static const char* const names[kMoveKinds] = {
      "birth_death", "relocate",   "copies", "rescale", "varphi", "scale_all",
      "scale_one",   "scale_pair", "flip",   "swap",    "noise",  "temperature"};
  return names[kind];
}

Chain::Chain(const Prior& prior, const ChainSettings& settings, Data data)
    : prior_(prior),
      settings_(settings),
      data_(std::move(data)),
      rng_(settings.seed) {
  const Stopwatch watch;
  double power = 1;
  for (int level = 0; level < settings_.n_temps; ++level) {
    states_.emplace_back(data_, prior_);
    start(states_.back());
    powers_.push_back(power);
    power *= settings_.ratio;
  }
  steps_.resize(states_.size());
  seconds_ = watch.seconds();
}

// Kernels from the prior, but all predictors included with the scale 1 / p
// each: from scales of 1 a chain in many dimensions never leaves the state in
// which every kernel is that of its own row alone.
void Chain::start(State& state) {
  draw_prior(state, rng_);
  std::vector<Slot> slots;
  for (int j = 0; j < state.size(); ++j) slots.push_back(state.slot(j));
  const int p = data_.p();
  state.assign(std::move(slots), std::vector<double>(p, -std::log(double(p))),
               std::vector<char>(p, 1), state.noise());
}

void Chain::advance(int n) {
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) {
    for (std::size_t level = 0; level < states_.size(); ++level) {
      Counts heated;
      sweep(static_cast<int>(level), level == 0 ? counts_ : heated);
    }
    swap_temperatures();
    ++time_;
    if (time_ == settings_.warmup) counts_ = Counts();
    const int after = time_ - settings_.warmup;
    if (after > 0 && after % settings_.thin == 0) record();
  }
  seconds_ += watch.seconds();
}

// Towards the best acceptance rate of a step in one dimension; the steps stay
// as they are after the warmup.
void Chain::adapt(int level, int step, bool accepted) {
  if (time_ >= settings_.warmup) return;
  constexpr double kTarget = 0.44;
  steps_[level].log_step[step] +=
      ((accepted ? 1 : 0) - kTarget) / std::sqrt(time_ + 1.0);
}

void Chain::sweep(int level, Counts& counts) {
  State& state = states_[level];
  const double power = powers_[level];
  const auto& log_step = steps_[level].log_step;
  const int slots = std::max(state.size(), 4);
  for (int i = 0; i < slots; ++i) {
    counts.note(kBirthDeath, birth_death_move(state, power, rng_));
    counts.note(kVarphi, varphi_move(state, power, 1.5, rng_));
  }
  for (int i = 0; i < slots / 2; ++i) {
    counts.note(kRelocate, relocate_move(state, power, rng_));
    counts.note(kCopies, copies_move(state, power, rng_));
    counts.note(kRescale, rescale_move(state, power, rng_));
  }
  bool moved = scale_all_move(state, power, std::exp(log_step[0]), rng_);
  counts.note(kScaleAll, moved);
  adapt(level, 0, moved);
  if (!prior_.equal()) {
    const int times = std::min(data_.p(), 10);
    for (int i = 0; i < times; ++i) {
      moved = scale_one_move(state, power, std::exp(log_step[1]), rng_);
      counts.note(kScaleOne, moved);
      adapt(level, 1, moved);
    }
    counts.note(kScalePair, scale_pair_move(state, power, rng_));
  }
  if (prior_.selects()) {
    counts.note(kFlip, flip_move(state, power, rng_));
    counts.note(kFlip, flip_move(state, power, rng_));
    counts.note(kSwap, swap_move(state, power, rng_));
  }
  moved = noise_move(state, power, std::exp(log_step[2]), rng_);
  counts.note(kNoise, moved);
  adapt(level, 2, moved);
  if (power == 1) noise_gibbs(state, rng_);
}

// Neighbours, the even pairs and the odd ones in turn.
void Chain::swap_temperatures() {
  for (std::size_t i = time_ % 2; i + 1 < states_.size(); i += 2) {
    const double log_ratio =
        (powers_[i] - powers_[i + 1]) *
        (states_[i + 1].log_likelihood() - states_[i].log_likelihood());
    const bool swapped = accept(log_ratio, rng_);
    if (swapped) std::swap(states_[i], states_[i + 1]);
    counts_.note(kTemperature, swapped);
  }
}

void Chain::record() {
  const State& state = states_[0];
  const int m = state.size();
  draws_.m.push_back(m);
  draws_.noise.push_back(state.noise());
  draws_.log_likelihood.push_back(state.log_likelihood());
  const auto& scales = state.log_lambda();
  draws_.log_lambda.insert(draws_.log_lambda.end(), scales.begin(),
                           scales.end());
  draws_.included.insert(draws_.included.end(), state.included().begin(),
                         state.included().end());
  for (int j = 0; j < m; ++j) {
    draws_.location.push_back(state.slot(j).location);
    draws_.copies.push_back(state.slot(j).copies);
    draws_.variance.push_back(state.variance(j));
  }
  if (m == 0) return;
  const State::Factor factor = state.factor();
  const Eigen::VectorXd beta = State::draw_coefficients(factor, rng_);
  draws_.beta.insert(draws_.beta.end(), beta.data(), beta.data() + m);
  draws_.z.insert(draws_.z.end(), factor.z.data(), factor.z.data() + m);
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) draws_.factor.push_back(factor.lower(i, j));
  }
}

Chain::Saved Chain::save() const {
  Saved out;
  out.time = time_;
  for (const State& state : states_) out.states.push_back(state.save());
  out.steps = steps_;
  out.counts = counts_;
  out.rng = rng_.state();
  out.draws = draws_;
  out.seconds = seconds_;
  return out;
}

void Chain::restore(Saved saved) {
  if (saved.time > total() || saved.states.size() != states_.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].restore(std::move(saved.states[i]));
  }
  steps_ = std::move(saved.steps);
  counts_ = saved.counts;
  rng_.set_state(saved.rng);
  draws_ = std::move(saved.draws);
  seconds_ += saved.seconds;
}

}  // namespace bark
}  // namespace kernelbayes
