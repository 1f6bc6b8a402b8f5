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

namespace {

// Of the intercept, which has none, zeros.
void record_shape(const State& state, const Shape* shape, Draws& draws) {
  const Prior& prior = state.prior();
  const std::size_t p = state.data().p();
  const auto append = [p](auto& out, const auto* values) {
    if (values) {
      out.insert(out.end(), values->begin(), values->end());
    } else {
      out.insert(out.end(), p, 0);
    }
  };
  if (prior.centre_sd > 0) {
    append(draws.centre, shape ? &shape->centre : nullptr);
  }
  if (!prior.own_scales) return;
  append(draws.own_log_lambda, shape ? &shape->log_lambda : nullptr);
  append(draws.own_included, shape ? &shape->included : nullptr);
}

}  // namespace

Eigen::VectorXd record_kernels(const State& state, bool prior_only,
                               Draws& draws, Rng& rng) {
  const int m = state.size();
  const State::Factor factor =
      prior_only ? state.prior_factor() : state.factor();
  const Eigen::VectorXd beta = State::draw_coefficients(factor, rng);
  draws.m.push_back(m);
  if (!state.prior().own_scales) {
    const auto& scales = state.log_lambda();
    draws.log_lambda.insert(draws.log_lambda.end(), scales.begin(),
                            scales.end());
    draws.included.insert(draws.included.end(), state.included().begin(),
                          state.included().end());
  }
  const Eigen::MatrixXd& u = state.directions();
  draws.directions.insert(draws.directions.end(), u.data(),
                          u.data() + u.size());
  for (int j = 0; j < m; ++j) {
    draws.location.push_back(state.slot(j).location);
    draws.copies.push_back(state.slot(j).copies);
    draws.variance.push_back(state.variance(j));
    record_shape(state, state.slot(j).shape.get(), draws);
  }
  draws.beta.insert(draws.beta.end(), beta.data(), beta.data() + m);
  draws.z.insert(draws.z.end(), factor.z.data(), factor.z.data() + m);
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) draws.factor.push_back(factor.lower(i, j));
  }
  return beta;
}

void Chain::record() {
  const State& state = states_[0];
  const Eigen::VectorXd beta =
      record_kernels(state, settings_.prior_only, draws_, rng_);
  draws_.noise.push_back(state.noise());
  draws_.log_likelihood.push_back(
      data_.family == Family::kGaussian
          ? state.log_likelihood()
          : response_log_likelihood(state, state.columns() * beta));
  if (data_.ordered()) {
    draws_.cuts.insert(draws_.cuts.end(), state.cuts().begin() + 1,
                       state.cuts().end() - 1);
  }
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
  if (saved.time > total() || saved.states.size() != states_.size() ||
      saved.steps.size() != states_.size()) {
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
