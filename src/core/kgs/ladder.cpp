#include "ladder.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"
#include "normal_vector.hpp"
#include "surrogate.hpp"

namespace kernelbayes {
namespace kgs {

Ladder::Ladder(const Data& data, const LadderSettings& settings)
    : walls_(data),
      settings_(settings),
      rng_(settings.seed, 1) {  // not the numbers of a chain of this seed
  const Stopwatch watch;
  if (settings_.beta.empty() || settings_.beta.front() != 0) {
    throw std::invalid_argument("the first cost must be 0");
  }
  if (settings_.method == Method::kHmc) walls_.keep_gram();
  states_.assign(settings_.beta.size(), State(walls_));
  for (State& state : states_) {
    state.set(walls_, normal_vector(walls_.dimension(), rng_));
  }
  movers_.assign(states_.size(), Mover(walls_, settings_.method));
  if (settings_.method == Method::kCoordinate) {
    const Surrogate guess = surrogate(walls_);
    for (Mover& mover : movers_) mover.precondition(guess.curvature);
  }
  swapped_.assign(states_.size() - 1, 0);
  seconds_ = watch.seconds();
}

void Ladder::advance(int n) {
  constexpr int kRefresh = 200;
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) {
    iterate();
    exchange_neighbours();
    ++time_;
    const bool learn =
        time_ == settings_.warmup / 3 || time_ == 2 * (settings_.warmup / 3);
    for (int l = 1; l < levels(); ++l) {
      if (learn && time_ > 0) movers_[l].learn();
      if (time_ % kRefresh == 0) states_[l].refresh(walls_);
    }
    if (time_ <= settings_.warmup) continue;
    for (const State& state : states_) errors_.push_back(state.ledger.errors());
  }
  seconds_ += watch.seconds();
}

void Ladder::iterate() {
  states_[0].set(walls_, normal_vector(walls_.dimension(), rng_));
  for (int l = 1; l < levels(); ++l) {
    const Costs costs(walls_.classes(), settings_.beta[l]);
    if (time_ < settings_.warmup) {
      movers_[l].adapt(costs, states_[l], rng_);
    } else {
      movers_[l].step(costs, states_[l], rng_);
    }
  }
}

void Ladder::exchange_neighbours() {
  for (int l = time_ % 2; l + 1 < levels(); l += 2) {
    const double gain =
        (settings_.beta[l + 1] - settings_.beta[l]) *
        (states_[l + 1].ledger.errors() - states_[l].ledger.errors());
    if (rng_.uniform() < std::exp(gain)) {
      std::swap(states_[l], states_[l + 1]);
      if (time_ >= settings_.warmup) ++swapped_[l];
    }
  }
}

Ladder::Saved Ladder::save() const {
  Saved out;
  out.time = time_;
  for (int l = 0; l < levels(); ++l) {
    out.levels.push_back({states_[l].g, states_[l].f, states_[l].ledger.sides(),
                          movers_[l].lines()});
  }
  out.rng = rng_.state();
  out.errors = errors_;
  out.swapped = swapped_;
  out.seconds = seconds_;
  return out;
}

void Ladder::restore(Saved saved) {
  if (saved.time > total() || saved.levels.size() != states_.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  for (int l = 0; l < levels(); ++l) {
    if (saved.levels[l].g.size() != states_[l].g.size() ||
        saved.levels[l].f.size() != states_[l].f.size()) {
      throw std::invalid_argument("the state does not belong to these data");
    }
    states_[l].g = saved.levels[l].g;
    states_[l].f = saved.levels[l].f;
    states_[l].ledger.restore(saved.levels[l].sides);
    movers_[l].restore_lines(std::move(saved.levels[l].lines));
  }
  rng_.set_state(saved.rng);
  errors_ = std::move(saved.errors);
  swapped_ = std::move(saved.swapped);
  seconds_ += saved.seconds;
}

}  // namespace kgs
}  // namespace kernelbayes
