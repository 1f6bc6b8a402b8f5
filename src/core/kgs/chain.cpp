#include "chain.hpp"

#include <stdexcept>

#include "core/stopwatch.hpp"
#include "normal_vector.hpp"
#include "start.hpp"
#include "surrogate.hpp"

namespace kernelbayes {
namespace kgs {

namespace {

Eigen::MatrixXd at_data(const Data& data) {
  Eigen::MatrixXd out(data.point.size(), data.features.cols());
  for (std::size_t i = 0; i < data.point.size(); ++i) {
    out.row(i) = data.features.row(data.point[i]);
  }
  return out;
}

Eigen::VectorXd signs(const Data& data) {
  Eigen::VectorXd out(data.label.size());
  for (std::size_t i = 0; i < data.label.size(); ++i) {
    out[i] = data.label[i] == 1 ? 1 : -1;
  }
  return out;
}

}  // namespace

Chain::Chain(Data data, const ChainSettings& settings)
    : data_(std::move(data)),
      settings_(settings),
      rng_(settings.seed),
      total_(data_.classes, 0),
      rates_(start_rates(settings.noise)) {
  const Stopwatch watch;
  for (const int label : data_.label) ++total_[label];
  draws_.flipped.assign(data_.label.size(), 0);
  if (settings_.method == Method::kBlock) {
    block_ =
        std::make_unique<Block>(at_data(data_), signs(data_), settings_.nugget);
  } else {
    walls_ = std::make_unique<Walls>(data_);
    if (settings_.method == Method::kHmc) walls_->keep_gram();
    state_ = std::make_unique<State>(*walls_);
    mover_ = std::make_unique<Mover>(*walls_, settings_.method);
    data_.features.resize(0, 0);
    start();
  }
  seconds_ = watch.seconds();
}

void Chain::start() {
  // Far from each other and from the mode, where a draw of the prior would be
  // so far that lines take long to come back.
  constexpr double kSpread = 0.3;
  Eigen::VectorXd g = normal_vector(walls_->dimension(), rng_);
  if (settings_.method == Method::kCoordinate) {
    const Surrogate guess = surrogate(*walls_);
    mover_->precondition(guess.curvature);
    g = kSpread * g + guess.mode;
  }
  if (settings_.start.size() > 0) g = settings_.start;
  state_->set(*walls_, g);
  const bool hard =
      settings_.noise.kind == Noise::kFixed && settings_.noise.rate == 0;
  if (!hard || state_->ledger.errors() == 0) return;
  if (!separate(*walls_, *state_, rng_)) {
    throw NotSeparable("the labels cannot be separated");
  }
}

void Chain::advance(int n) {
  constexpr int kRefresh = 200;
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) {
    iterate();
    ++time_;
    if (state_ && time_ % kRefresh == 0) state_->refresh(*walls_);
    const bool learn =
        time_ == settings_.warmup / 3 || time_ == 2 * (settings_.warmup / 3);
    if (mover_ && learn && time_ > 0) mover_->learn();
    const int after = time_ - settings_.warmup;
    if (after > 0 && after % settings_.thin == 0) record();
  }
  seconds_ += watch.seconds();
}

void Chain::iterate() {
  if (block_) {
    block_->step(rates_.front(), rates_.back(), rng_);
  } else {
    const Costs costs = costs_of(settings_.noise, rates_, data_.classes);
    if (time_ < settings_.warmup) {
      mover_->adapt(costs, *state_, rng_);
    } else {
      mover_->step(costs, *state_, rng_);
    }
  }
  draw_rates(settings_.noise, wrong(), total_, rates_, rng_);
}

bool Chain::is_wrong(int datum) const {
  if (state_) return state_->ledger.is_wrong(datum);
  return (block_->latent()[datum] > 0) != (data_.label[datum] == 1);
}

std::vector<int> Chain::wrong() const {
  if (state_) return state_->ledger.wrong();
  std::vector<int> out(2, 0);
  for (std::size_t i = 0; i < data_.label.size(); ++i) {
    out[data_.label[i]] += is_wrong(static_cast<int>(i));
  }
  return out;
}

void Chain::record() {
  const Eigen::VectorXd w =
      block_ ? block_->direction() : state_->g.normalized();
  const Eigen::Index functions = data_.classes == 2 ? 1 : data_.classes;
  const Eigen::Index rank = w.size() / functions;
  for (Eigen::Index c = 0; c < functions; ++c) {
    const auto part = w.segment(c * rank, settings_.kept);
    draws_.w.insert(draws_.w.end(), part.data(), part.data() + part.size());
  }
  draws_.rates.insert(draws_.rates.end(), rates_.begin(), rates_.end());
  const std::vector<int> counts = wrong();
  draws_.wrong.insert(draws_.wrong.end(), counts.begin(), counts.end());
  for (std::size_t i = 0; i < data_.label.size(); ++i) {
    draws_.flipped[i] += is_wrong(static_cast<int>(i));
  }
}

Chain::Saved Chain::save() const {
  Saved out;
  out.time = time_;
  if (block_) {
    out.g = block_->latent();
  } else {
    out.g = state_->g;
    out.f = state_->f;
    out.sides = state_->ledger.sides();
    if (settings_.method == Method::kCoordinate) out.lines = mover_->lines();
  }
  out.rates = rates_;
  out.rng = rng_.state();
  out.draws = draws_;
  out.seconds = seconds_;
  return out;
}

void Chain::restore(Saved saved) {
  const Eigen::Index wanted =
      block_ ? block_->latent().size() : state_->g.size();
  if (saved.time > total() || saved.g.size() != wanted ||
      (!block_ && saved.f.size() != state_->f.size()) ||
      saved.rates.size() != rates_.size()) {
    throw std::invalid_argument("the state does not belong to these settings");
  }
  time_ = saved.time;
  if (block_) {
    block_->set_latent(saved.g);
  } else {
    state_->g = saved.g;
    state_->f = saved.f;
    state_->ledger.restore(saved.sides);
    if (settings_.method == Method::kCoordinate) {
      mover_->restore_lines(std::move(saved.lines));
    }
  }
  rates_ = saved.rates;
  rng_.set_state(saved.rng);
  draws_ = std::move(saved.draws);
  seconds_ += saved.seconds;
}

}  // namespace kgs
}  // namespace kernelbayes
