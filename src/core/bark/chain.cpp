#include "chain.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"

namespace kernelbayes {
namespace bark {

Chain::Chain(const Prior& prior, const ChainSettings& settings, Data data)
    : prior_(prior),
      settings_(settings),
      data_(std::move(data)),
      rng_(settings.seed) {
  const Stopwatch watch;
  double t = 1;
  for (int level = 0; level < settings_.n_temps; ++level) {
    rungs_.push_back(Rung::at(t, data_.family));
    if (settings_.prior_only) rungs_.back().power = 0;
    states_.emplace_back(data_, prior_);
    State& state = states_.back();
    state.set_amplitude(rungs_.back().amplitude);
    if (settings_.prior_only) {
      draw_prior(state, rng_);
      draw_prior_cuts(state, rng_);
    } else {
      draw_start(state, rng_);
    }
    t *= data_.family == Family::kGaussian ? settings_.power_ratio
                                           : settings_.amplitude_ratio;
  }
  sweeps_.assign(states_.size(), Sweep(prior_, data_));
  seconds_ = watch.seconds();
}

void Chain::advance(int n) {
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) {
    for (std::size_t level = 0; level < states_.size(); ++level) {
      sweep(static_cast<int>(level));
    }
    swap_temperatures();
    ++time_;
    if (time_ == settings_.warmup) counts_ = Counts();
    const int after = time_ - settings_.warmup;
    if (after > 0 && after % settings_.thin == 0) record();
  }
  seconds_ += watch.seconds();
}

void Chain::sweep(int level) {
  // What updates lose in accuracy is regained now and then.
  constexpr int kRefresh = 1000;
  State& state = states_[level];
  const bool adapt = time_ < settings_.warmup;
  Counts heated, &counts = level == 0 ? counts_ : heated;
  if (settings_.full) {
    sweeps_[level].full(state, rungs_[level].power, adapt, counts, rng_);
    return;
  }
  if (time_ % kRefresh == 0) state.refresh();
  sweeps_[level].single(state, rungs_[level].power, adapt, counts, rng_);
}

// Neighbours, the even pairs and the odd ones in turn.
void Chain::swap_temperatures() {
  for (std::size_t i = time_ % 2; i + 1 < states_.size(); i += 2) {
    counts_.note(kTemperature, exchange(states_[i], rungs_[i], states_[i + 1],
                                        rungs_[i + 1], rng_));
  }
}

void Chain::record() {
  const State& state = states_[0];
  const int m = state.size();
  const State::Factor factor =
      settings_.prior_only ? state.prior_factor() : state.factor();
  const Eigen::VectorXd beta = State::draw_coefficients(factor, rng_);
  draws_.m.push_back(m);
  draws_.noise.push_back(state.noise());
  draws_.log_likelihood.push_back(
      data_.family == Family::kGaussian
          ? state.log_likelihood()
          : response_log_likelihood(state, state.columns() * beta));
  if (data_.ordered()) {
    draws_.cuts.insert(draws_.cuts.end(), state.cuts().begin() + 1,
                       state.cuts().end() - 1);
  }
  const auto& scales = state.log_lambda();
  if (!prior_.own_scales) {
    draws_.log_lambda.insert(draws_.log_lambda.end(), scales.begin(),
                             scales.end());
    draws_.included.insert(draws_.included.end(), state.included().begin(),
                           state.included().end());
  }
  for (int j = 0; j < m; ++j) {
    draws_.location.push_back(state.slot(j).location);
    draws_.copies.push_back(state.slot(j).copies);
    draws_.variance.push_back(state.variance(j));
    record_shape(state.slot(j).shape.get());
  }
  draws_.beta.insert(draws_.beta.end(), beta.data(), beta.data() + m);
  draws_.z.insert(draws_.z.end(), factor.z.data(), factor.z.data() + m);
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) draws_.factor.push_back(factor.lower(i, j));
  }
}

void Chain::record_shape(const Shape* shape) {
  const std::size_t p = data_.p();
  const auto append = [p](auto& out, const auto* values) {
    if (values) {
      out.insert(out.end(), values->begin(), values->end());
    } else {
      out.insert(out.end(), p, 0);
    }
  };
  if (prior_.centre_sd > 0) {
    append(draws_.centre, shape ? &shape->centre : nullptr);
  }
  if (!prior_.own_scales) return;
  append(draws_.own_log_lambda, shape ? &shape->log_lambda : nullptr);
  append(draws_.own_included, shape ? &shape->included : nullptr);
}

Chain::Saved Chain::save() const {
  Saved out;
  out.time = time_;
  for (const State& state : states_) {
    out.states.push_back(state.save(!settings_.full));
  }
  for (const Sweep& sweep : sweeps_) out.steps.push_back(sweep.steps());
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
    sweeps_[i].set_steps(saved.steps[i]);
  }
  counts_ = saved.counts;
  rng_.set_state(saved.rng);
  draws_ = std::move(saved.draws);
  seconds_ += saved.seconds;
}

}  // namespace bark
}  // namespace kernelbayes
