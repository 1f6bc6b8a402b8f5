#include "scales.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/bark/moves/moves.hpp"
#include "kernelbayes/constants.hpp"

namespace kernelbayes::bark {

namespace {

bool has_scales(const Slot& slot) { return slot.location != 0; }

int new_cluster(const std::vector<ShapePointer>& others) {
  int out = 0;
  for (const auto& shape : others) out = std::max(out, shape->cluster + 1);
  return out;
}

ShapePointer with_scales_of(const Shape& from, const Shape& shape) {
  auto out = std::make_shared<Shape>(from);
  out->centre = shape.centre;
  return out;
}

void set_concentration(State& state, double to) {
  Pool pool = state.pool();
  pool.concentration = to;
  state.set_pool(std::move(pool));
}

// A kernel, chosen uniformly among all slots, or -1.
int choose_kernel(const State& state, Rng& rng) {
  if (!state.prior().clustered() || state.size() == 0) return -1;
  const int j = static_cast<int>(rng.index(state.size()));
  return has_scales(state.slot(j)) ? j : -1;
}

}  // namespace

std::vector<int> cluster_of(const State& state, int j) {
  std::vector<int> out;
  const int cluster = state.slot(j).shape->cluster;
  for (int i = 0; i < state.size(); ++i) {
    const Slot& slot = state.slot(i);
    if (has_scales(slot) && slot.shape->cluster == cluster) out.push_back(i);
  }
  return out;
}

void draw_concentration(State& state, Rng& rng) {
  const std::vector<double>& all = state.prior().concentrations;
  const auto count = static_cast<std::uint32_t>(all.size());
  set_concentration(state, all[rng.index(count)]);
}

std::vector<ShapePointer> shapes_of(const State& state, int but) {
  std::vector<ShapePointer> out;
  for (int j = 0; j < state.size(); ++j) {
    if (j != but && has_scales(state.slot(j))) {
      out.push_back(state.slot(j).shape);
    }
  }
  return out;
}

ShapePointer join_or_found(const ShapePointer& fresh,
                           const std::vector<ShapePointer>& others,
                           double concentration, Rng& rng) {
  const auto n = static_cast<std::uint32_t>(others.size());
  if (rng.uniform() * (n + concentration) < n) {
    return with_scales_of(*others[rng.index(n)], *fresh);
  }
  auto out = std::make_shared<Shape>(*fresh);
  out->cluster = new_cluster(others);
  return out;
}

// Large clusters would otherwise move more often than they need to.
bool change_cluster(State& state, const std::vector<int>& cluster,
                    const ScaleProposal& next, double power, Rng& rng) {
  constexpr double kMost = 3;
  if (rng.uniform() * static_cast<double>(cluster.size()) > kMost) return false;
  std::vector<ShapePointer> shapes;
  for (int j = 0; j < state.size(); ++j) shapes.push_back(state.slot(j).shape);
  for (const int j : cluster) shapes[j] = changed(*shapes[j], next.change);
  return try_shapes(state, std::move(shapes), next.log_ratio, power, rng);
}

bool cluster_move(State& state, double power, Rng& rng) {
  const int j = choose_kernel(state, rng);
  if (j < 0) return false;
  Place to = draw_place(state, rng);
  if (to.location == 0) return false;  // it has no scales
  to.shape = with_scales_of(*to.shape, *state.slot(j).shape);
  to.location = state.slot(j).location;
  return move_kernel(state, j, to, 0, power, rng);
}

namespace {

double log_step_density(double step, double sd) {
  return -0.5 * (step * step / (sd * sd) + kLogTwoPi) - std::log(sd);
}

double log_scale_density(double log_scale, double shape, double rate) {
  return log_scale + log_gamma_density(log_scale, shape, rate);
}

// Sets of scales of one group, and how they may differ.
class ScaleSets {
 public:
  ScaleSets(const Prior& prior, const Shape& shape, double step)
      : prior_(prior), step_(step), inputs_(shape.included.size()) {
    std::iota(inputs_.begin(), inputs_.end(), 0);
    if (!prior.groups.empty()) inputs_ = prior.groups[shape.group];
  }

  // (B11), (B12), of logarithms.
  double log_prior(const Shape& shape) const {
    const int p = static_cast<int>(inputs_.size()), d = count(shape);
    double out = 0;
    if (!prior_.groups.empty()) {
      out -= std::log(static_cast<double>(prior_.groups.size()));
    }
    if (prior_.selects()) {
      for (int k = 0; k < p; ++k) {
        out += std::log((k < d ? prior_.ap + k : prior_.bp + k - d) /
                        (prior_.ap + prior_.bp + k));
      }
    }
    for (const int l : inputs_) {
      if (!shape.included[l]) continue;
      const double scale = shape.log_lambda[l];
      if (prior_.equal()) {
        return out + log_scale_density(scale, prior_.a, prior_.b * d);
      }
      out += log_scale_density(scale, prior_.share_shape(d), prior_.b);
    }
    return out;
  }

  // Scales take normal steps; half the time one input enters, with a scale from
  // the prior, or leaves.
  std::shared_ptr<Shape> draw_near(const Shape& from, Rng& rng) const {
    auto out = std::make_shared<Shape>(from);
    const double common = step_ * rng.normal();
    for (const int l : inputs_) {
      if (!from.included[l]) continue;
      out->log_lambda[l] += prior_.equal() ? common : step_ * rng.normal();
    }
    if (!flips() || rng.uniform() < 0.5) return out;
    const int l = inputs_[rng.index(static_cast<std::uint32_t>(n_inputs()))];
    out->included[l] = !from.included[l];
    if (out->included[l]) {
      const double shape = prior_.share_shape(count(*out));
      out->log_lambda[l] = log_gamma_draw(shape, prior_.b, rng);
    }
    return out;
  }

  double log_near(const Shape& from, const Shape& to) const {
    if (from.group != to.group) return -INFINITY;
    double out = flips() ? -std::log(2.0) : 0;
    int flipped = 0, steps = 0;
    for (const int l : inputs_) {
      if (from.included[l] != to.included[l]) {
        ++flipped;
        out -= std::log(n_inputs());
        if (!to.included[l]) continue;
        out += log_scale_density(to.log_lambda[l],
                                 prior_.share_shape(count(to)), prior_.b);
      } else if (from.included[l] && !(prior_.equal() && steps++ > 0)) {
        out += log_step_density(to.log_lambda[l] - from.log_lambda[l], step_);
      }
    }
    return flipped > flips() ? -INFINITY : out;
  }

 private:
  bool flips() const { return prior_.selects() && !prior_.equal(); }
  double n_inputs() const { return static_cast<double>(inputs_.size()); }
  static int count(const Shape& shape) {
    return static_cast<int>(
        std::count(shape.included.begin(), shape.included.end(), 1));
  }

  const Prior& prior_;
  double step_;
  std::vector<int> inputs_;
};

}  // namespace

// (B112) and its inverse.
bool leave_move(State& state, double power, double step, Rng& rng) {
  const int j = choose_kernel(state, rng);
  if (j < 0) return false;
  const auto others = shapes_of(state, j);
  if (others.empty()) return false;
  const Slot& slot = state.slot(j);
  const Shape& own = *slot.shape;
  const ScaleSets sets(state.prior(), own, step);
  // Of a new cluster, against one of the others.
  const double log_new = std::log(state.pool().concentration) -
                         std::log(static_cast<double>(others.size()));
  ShapePointer to;
  double log_ratio;
  if (cluster_of(state, j).size() > 1) {
    auto near = sets.draw_near(own, rng);
    near->cluster = new_cluster(others);
    log_ratio = log_new + sets.log_prior(*near) - sets.log_near(own, *near);
    to = std::move(near);
  } else {
    const auto k = rng.index(static_cast<std::uint32_t>(others.size()));
    log_ratio = sets.log_near(*others[k], own) - sets.log_prior(own) - log_new;
    if (log_ratio == -INFINITY) return false;
    to = with_scales_of(*others[k], own);
  }
  return move_kernel(state, j, Place{slot.location, std::move(to)}, log_ratio,
                     power, rng);
}

// (B113).
void concentration_move(State& state, Rng& rng) {
  if (!state.prior().clustered()) return;
  const auto all = shapes_of(state);
  std::set<int> clusters;
  for (const auto& shape : all) clusters.insert(shape->cluster);
  const auto n = static_cast<double>(all.size());
  const auto k = static_cast<double>(clusters.size());
  const std::vector<double>& values = state.prior().concentrations;
  Eigen::VectorXd weights(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double c = values[i];
    weights[i] = k * std::log(c) + std::lgamma(c) - std::lgamma(c + n);
  }
  weights = (weights.array() - weights.maxCoeff()).exp();
  const int i = choose_weighted(weights, weights.sum(), rng);
  set_concentration(state, values[i]);
}

}  // namespace kernelbayes::bark
