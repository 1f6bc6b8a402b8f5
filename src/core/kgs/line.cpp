#include "line.hpp"

#include <Eigen/Eigenvalues>

namespace kernelbayes {
namespace kgs {

namespace {

using Eigen::VectorXd;

}  // namespace

Lines::Lines(const Walls& walls) : walls_(&walls) {
  const int n = walls.dimension();
  saved_.width = VectorXd::Ones(n);
}

void Lines::restore(Saved saved) {
  saved_ = std::move(saved);
  if (saved_.axes.size() > 0) {
    components_.resize(walls_->size(), saved_.axes.cols());
    for (int j = 0; j < saved_.axes.cols(); ++j) {
      components_.col(j) = walls_->project(saved_.axes.col(j));
    }
  }
}

void Lines::note(const State& state) {
  if (saved_.seen == 0) {
    saved_.sum = VectorXd::Zero(state.g.size());
    saved_.squares = Eigen::MatrixXd::Zero(state.g.size(), state.g.size());
  }
  ++saved_.seen;
  saved_.sum += state.g;
  saved_.squares.selfadjointView<Eigen::Lower>().rankUpdate(state.g);
}

void Lines::learn() {
  if (saved_.seen == 0) return;
  const VectorXd mean = saved_.sum / saved_.seen;
  Eigen::MatrixXd covariance = saved_.squares / saved_.seen;
  covariance.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1);
  // With fewer states than axes those not seen keep some variance.
  covariance.diagonal().array() += covariance.diagonal().mean() / saved_.seen;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  Saved next;
  next.axes = solver.eigenvectors();
  next.width = 2 * solver.eigenvalues().cwiseMax(0).cwiseSqrt();
  next.width = next.width.cwiseMax(1e-8);
  restore(std::move(next));
}

VectorXd Lines::axis(int j) const {
  return saved_.axes.size() > 0 ? VectorXd(saved_.axes.col(j))
                                : VectorXd(VectorXd::Unit(walls_->dimension(), j));
}

void Lines::price(const Costs& costs) {
  if (!walls_->two_classes() || costs == costs_) return;
  costs_ = costs;
  middle_ = half_ = VectorXd::Zero(walls_->size());
  for (int k = 0; k < walls_->size(); ++k) {
    for (auto m = walls_->begin(k); m != walls_->end(k); ++m) {
      const double cost = costs[walls_->label(m->datum)] / 2;
      middle_[k] += cost;
      half_[k] += m->positive ? -cost : cost;
    }
  }
}

// Where no wall matters to another the energy is a sum over walls, without
// branches.
double Lines::energy(const State& state, const Line& line, double t) const {
  if (!walls_->two_classes()) {
    Ledger ledger = state.ledger;
    ledger.rebuild(state.f + t * line.b);
    return ledger.energy(costs_);
  }
  double sum = 0;
  for (int k = 0; k < line.b.size(); ++k) {
    sum += middle_[k] +
           std::copysign(1.0, state.f[k] + t * line.b[k]) * half_[k];
  }
  return sum;
}

// Stepping out and shrinking, for the density exp(slope t - t^2 / 2 - E(t)).
double Lines::update(const Line& line, double width, State& state,
                     double& energy_now, Rng& rng) const {
  double energy_at = energy_now;
  const auto log_density = [&](double t) {
    energy_at = energy(state, line, t);
    return (line.slope - t / 2) * t - energy_at;
  };
  const double level = -energy_now + std::log1p(-rng.uniform());
  double low = -width * rng.uniform(), high = low + width;
  while (log_density(low) > level) low -= width;
  while (log_density(high) > level) high += width;
  while (true) {
    const double t = low + (high - low) * rng.uniform();
    if (log_density(t) >= level) {
      energy_now = energy_at;
      return t;
    }
    (t < 0 ? low : high) = t;
    // Nothing but the state itself is left.
    if (high - low < 1e-15 * (1 + std::abs(line.slope))) return 0;
  }
}

void Lines::step(int count, const Costs& costs, State& state, bool adapt,
                 Rng& rng) {
  price(costs);
  costs_ = costs;
  double energy_now = state.ledger.energy(costs);
  if (walls_->two_classes()) {
    energy_now = energy(state, {VectorXd::Zero(walls_->size()), 0}, 0);
  }
  const int n = walls_->dimension();
  for (int i = 0; i < count; ++i, saved_.at = (saved_.at + 1) % n) {
    const int j = saved_.at;
    const VectorXd direction = axis(j);
    const Line line{components_.size() > 0 ? VectorXd(components_.col(j))
                                           : walls_->axis(j),
                    -state.g.dot(direction)};
    double& width = saved_.width[j];
    const double t = update(line, width, state, energy_now, rng);
    state.f += t * line.b;
    state.g += t * direction;
    // The mean distance between draws is about that of a normal posterior.
    if (adapt) width += 0.1 * (2.5 * std::abs(t) + 1e-8 - width);
  }
  state.ledger.rebuild(state.f);
}

}  // namespace kgs
}  // namespace kernelbayes
