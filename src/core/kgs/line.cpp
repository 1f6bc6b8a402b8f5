#include "line.hpp"

#include <algorithm>

#include "../decompositions.hpp"

namespace kernelbayes::kgs {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Turns changes at points into sums up to them.
void accumulate(std::vector<std::pair<double, double>>& events) {
  std::sort(events.begin(), events.end());
  double sum = 0;
  for (auto& event : events) sum = event.second += sum;
}

double sum_before(const std::vector<std::pair<double, double>>& events,
                  double place) {
  const auto next = std::lower_bound(
      events.begin(), events.end(), place,
      [](const auto& event, double at) { return event.first < at; });
  return next == events.begin() ? 0 : (next - 1)->second;
}

}  // namespace

Lines::Lines(const Walls& walls) : walls_(&walls) {
  learnt_.width = VectorXd::Ones(walls.dimension());
}

void Lines::transfer(Archive& archive) {
  const Eigen::Index d = walls_->dimension();
  archive("at", learnt_.at, Want::between(0, static_cast<double>(d - 1)));
  archive("width", learnt_.width, Want::between(0, 1e300, d));
  archive("seen", learnt_.seen, Want::between(0, 1e300));
  archive.optional(learnt_.axes.size() > 0, "axes", learnt_.axes, d, d);
  if (learnt_.seen > 0) {
    archive("sum", learnt_.sum, Want::of(d));
    archive("squares", learnt_.squares, d, d);
  }
  if (archive.reading()) project_axes();
}

void Lines::project_axes() {
  components_.resize(walls_->size(), learnt_.axes.cols());
  for (int j = 0; j < learnt_.axes.cols(); ++j) {
    components_.col(j) = walls_->project(learnt_.axes.col(j));
  }
}

void Lines::set_axes(const MatrixXd& axes, const VectorXd& width) {
  learnt_ = Learnt();
  learnt_.axes = axes;
  learnt_.width = width.cwiseMax(1e-12);
  project_axes();
}

void Lines::precondition(const MatrixXd& curvature) {
  const auto [values, vectors] = linalg::spectrum(curvature);
  set_axes(vectors, values.cwiseMax(1e-12).cwiseSqrt().cwiseInverse());
}

void Lines::note(const State& state) {
  if (learnt_.seen == 0) {
    learnt_.sum = VectorXd::Zero(state.g.size());
    learnt_.squares = MatrixXd::Zero(state.g.size(), state.g.size());
  }
  ++learnt_.seen;
  learnt_.sum += state.g;
  learnt_.squares.selfadjointView<Eigen::Lower>().rankUpdate(state.g);
}

void Lines::learn() {
  // With fewer states than axes, a first guess is better.
  if (learnt_.seen <= walls_->dimension()) return;
  const VectorXd mean = learnt_.sum / learnt_.seen;
  MatrixXd covariance = learnt_.squares / learnt_.seen;
  covariance.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1);
  const auto [values, vectors] = linalg::spectrum(covariance);
  set_axes(vectors, 2 * values.cwiseMax(0).cwiseSqrt());
}

VectorXd Lines::axis(int j) const {
  return learnt_.axes.size() > 0
             ? VectorXd(learnt_.axes.col(j))
             : VectorXd(VectorXd::Unit(walls_->dimension(), j));
}

// If walls do not affect each other, the energy near the state is a sum over
// the few walls there.
void Lines::look(const Costs& costs, const State& state, const Line& line,
                 double reach) {
  near_.reach = reach;
  near_.ahead.clear();
  near_.behind.clear();
  for (int k = 0; k < walls_->size(); ++k) {
    const double f = state.f[k], b = line.b[k];
    if (std::abs(f) >= reach * std::abs(b)) continue;
    const double at = -f / b, change = state.ledger.change(k, costs);
    if (change == 0) continue;
    (at > 0 ? near_.ahead : near_.behind).emplace_back(std::abs(at), change);
  }
  accumulate(near_.ahead);
  accumulate(near_.behind);
}

double Lines::rise(const Costs& costs, const State& state, const Line& line,
                   double t) {
  if (!walls_->two_classes()) {
    Ledger ledger = state.ledger;
    ledger.rebuild(state.f +
                   t * Eigen::Map<const VectorXd>(line.b, walls_->size()));
    return ledger.energy(costs) - state.ledger.energy(costs);
  }
  if (std::abs(t) >= near_.reach) look(costs, state, line, 4 * std::abs(t));
  return sum_before(t > 0 ? near_.ahead : near_.behind, std::abs(t));
}

// Stepping out and shrinking, for the density exp(slope t - t^2 / 2 - E(t)),
// (G11).
double Lines::update(const Costs& costs, const Line& line, double width,
                     const State& state, Rng& rng) {
  near_.reach = 0;
  const auto log_density = [&](double t) {
    return (line.slope - t / 2) * t - rise(costs, state, line, t);
  };
  const double level = std::log1p(-rng.uniform());
  double low = -width * rng.uniform(), high = low + width;
  look(costs, state, line, 4 * width);
  while (log_density(low) > level) low -= width;
  while (log_density(high) > level) high += width;
  while (true) {
    const double t = low + (high - low) * rng.uniform();
    if (log_density(t) >= level) return t;
    (t < 0 ? low : high) = t;
    // Only the state itself is left.
    if (high - low < 1e-15) return 0;
  }
}

void Lines::step(int count, const Costs& costs, State& state, bool adapt,
                 Rng& rng) {
  const int n = walls_->dimension();
  VectorXd own;
  for (int i = 0; i < count; ++i, learnt_.at = (learnt_.at + 1) % n) {
    const int j = learnt_.at;
    const VectorXd direction = axis(j);
    if (components_.cols() == 0) own = walls_->axis(j);
    const Line line{
        components_.cols() == 0 ? own.data() : components_.col(j).data(),
        -state.g.dot(direction)};
    double& width = learnt_.width[j];
    const double t = update(costs, line, width, state, rng);
    state.f += t * Eigen::Map<const VectorXd>(line.b, walls_->size());
    state.g += t * direction;
    for (int k = 0; k < walls_->size(); ++k) {
      const double side = state.ledger.sides()[k];
      if ((state.f[k] > 0) != (side > 0)) state.ledger.cross(k);
    }
    // The mean distance between draws, about that for a normal posterior.
    if (adapt) width += 0.2 * (2.5 * std::abs(t) - width);
    width = std::max(width, 1e-12);
  }
}

}  // namespace kernelbayes::kgs
