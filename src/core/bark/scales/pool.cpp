#include "scales.hpp"

#include "core/archive.hpp"
#include "core/bark/glm/glm_state.hpp"
#include "core/bark/moves/moves.hpp"
#include "kernelbayes/constants.hpp"

namespace kernelbayes::bark {

namespace {

double square(double x) { return x * x; }

// log N(x; mean, sd^2) up to a constant.
double log_normal(double x, double mean, double sd) {
  return -0.5 * square((x - mean) / sd) - std::log(sd);
}

double draw_beta(double a, double b, Rng& rng) {
  const double one = rng.gamma(a), other = rng.gamma(b);
  // Both may underflow.
  return one + other > 0 ? one / (one + other) : 0.5;
}

// A normal variable with this prior, given the sum of `count` observations with
// this standard deviation.
double draw_mean(double mean, double sd, double sum, double count,
                 double spread, Rng& rng) {
  const double prior = 1 / square(sd), data = count / square(spread);
  const double precision = prior + data;
  const double centre = (prior * mean + sum / square(spread)) / precision;
  return centre + rng.normal() / std::sqrt(precision);
}

double odds(double probability) { return probability / (1 - probability); }

}  // namespace

// (B80).
Pool draw_pool(const Prior& prior, int p, Rng& rng) {
  const PoolPrior& pool = prior.pool;
  Pool out;
  out.level = pool.level_mean + pool.level_sd * rng.normal();
  out.spread = pool.spread_sd * std::abs(rng.normal());
  for (int l = 0; l < p; ++l) {
    out.centre.push_back(out.level + pool.centre_sd * rng.normal());
    out.inclusion.push_back(prior.selects() ? draw_beta(prior.ap, prior.bp, rng)
                                            : 1);
  }
  return out;
}

Pool start_pool(const Prior& prior, int p) {
  const double scale = -std::log(static_cast<double>(p));
  return {std::vector<double>(p, prior.selects() ? 0.5 : 1),
          std::vector<double>(p, scale), scale, prior.pool.spread_sd};
}

void transfer(Archive& archive, Pool& pool, int p) {
  archive("pool_inclusion", pool.inclusion, Want::of(p));
  archive("pool_centre", pool.centre, Want::of(p));
  archive("pool_level", pool.level, Want::anything());
  archive("pool_spread", pool.spread, Want::positive());
}

// (B79).
void draw_pooled_scales(const Prior& prior, const Pool& pool, Shape& shape,
                        Rng& rng) {
  const std::size_t p = pool.centre.size();
  shape.included.assign(p, 1);
  shape.log_lambda.assign(p, 0);
  for (std::size_t l = 0; l < p; ++l) {
    if (prior.selects()) shape.included[l] = rng.uniform() < pool.inclusion[l];
    if (!shape.included[l]) continue;
    shape.log_lambda[l] = pool.centre[l] + pool.spread * rng.normal();
  }
}

// Proposals for one kernel ----------------------------------------------------

// (B81), all included scales by one factor.
ScaleProposal pooled_scale_all(const Scales& scales, double step, Rng& rng) {
  const Pool& pool = *scales.pool;
  ScaleProposal out{{step * rng.normal(), {}}};
  for (int l = 0; l < scales.p(); ++l) {
    if (!scales.included[l]) continue;
    const double from = scales.log_lambda[l];
    out.log_ratio +=
        log_normal(from + out.change.shift, pool.centre[l], pool.spread) -
        log_normal(from, pool.centre[l], pool.spread);
  }
  return out;
}

// (B81).
ScaleProposal pooled_scale_one(const Scales& scales, int predictor, double step,
                               Rng& rng) {
  const Pool& pool = *scales.pool;
  const double from = scales.log_lambda[predictor];
  const double to = from + step * rng.normal();
  return {{0, {{predictor, to, 1}}},
          log_normal(to, pool.centre[predictor], pool.spread) -
              log_normal(from, pool.centre[predictor], pool.spread)};
}

ScaleProposal pooled_scale_refresh(const Scales& scales, Rng& rng) {
  const Pool& pool = *scales.pool;
  if (scales.n_included() == 0) return ScaleProposal::none();
  const int l = choose_included(scales, rng);
  const double to = pool.centre[l] + pool.spread * rng.normal();
  return {{0, {{l, to, 1}}}};
}

// (B82): the scale from its prior. Predictors are chosen by probabilities that
// depend on the pool only.
ScaleProposal pooled_flip(const Scales& scales, Rng& rng) {
  const Pool& pool = *scales.pool;
  const int p = scales.p();
  Eigen::VectorXd weights(p);
  for (int l = 0; l < p; ++l) {
    weights[l] = pool.inclusion[l] * (1 - pool.inclusion[l]) + 0.1 / p;
  }
  const int l = choose_weighted(weights, weights.sum(), rng);
  const double log_odds = std::log(odds(pool.inclusion[l]));
  if (scales.included[l]) {
    return {{0, {{l, scales.log_lambda[l], 0}}}, -log_odds};
  }
  const double to = pool.centre[l] + pool.spread * rng.normal();
  return {{0, {{l, to, 1}}}, log_odds};
}

// (B83): the scale keeps its distance from the common one, in which the
// densities are equal.
ScaleProposal pooled_swap(const Scales& scales, Rng& rng) {
  const Pool& pool = *scales.pool;
  const int p = scales.p(), d = scales.n_included();
  if (d == 0 || d == p) return ScaleProposal::none();
  int i, j;
  do i = static_cast<int>(rng.index(p));
  while (!scales.included[i]);
  do j = static_cast<int>(rng.index(p));
  while (scales.included[j]);
  const double from = scales.log_lambda[i];
  const double to = pool.centre[j] + from - pool.centre[i];
  return {{0, {{i, from, 0}, {j, to, 1}}},
          std::log(odds(pool.inclusion[j]) / odds(pool.inclusion[i]))};
}

// The pool --------------------------------------------------------------------

namespace {

// The scales of all kernels, by predictor: how many, their sum and the sum of
// squared distances from the common one.
struct Sums {
  std::vector<double> count, sum;
  double kernels = 0, all = 0, squares = 0;
};

template <class S>
Sums sums_of(const S& state) {
  const Pool& pool = state.pool();
  const std::size_t p = pool.centre.size();
  Sums out{std::vector<double>(p), std::vector<double>(p)};
  for (int j = 0; j < state.size(); ++j) {
    if (state.slot(j).location == 0) continue;
    const Shape& own = *state.slot(j).shape;
    ++out.kernels;
    for (std::size_t l = 0; l < p; ++l) {
      if (!own.included[l]) continue;
      ++out.count[l];
      ++out.all;
      out.sum[l] += own.log_lambda[l];
      out.squares += square(own.log_lambda[l] - pool.centre[l]);
    }
  }
  return out;
}

// (B84), steps of log s.
void move_spread(const Prior& prior, const Sums& sums, Pool& pool, Rng& rng) {
  constexpr int kSteps = 5;
  const auto log_density = [&](double s) {
    return (1 - sums.all) * std::log(s) - 0.5 * sums.squares / square(s) -
           0.5 * square(s / prior.pool.spread_sd);
  };
  for (int i = 0; i < kSteps; ++i) {
    const double to = pool.spread * std::exp(rng.normal());
    if (accept(log_density(to) - log_density(pool.spread), rng)) {
      pool.spread = to;
    }
  }
}

}  // namespace

// (B84): given the scales of the kernels, the data do not matter.
template <class S>
void pool_move(S& state, Rng& rng) {
  const Prior& prior = state.prior();
  if (!prior.pooled) return;
  Pool pool = state.pool();
  const std::size_t p = pool.centre.size();
  Sums sums = sums_of(state);
  double centres = 0;
  for (std::size_t l = 0; l < p; ++l) {
    if (prior.selects()) {
      pool.inclusion[l] =
          draw_beta(prior.ap + sums.count[l],
                    prior.bp + sums.kernels - sums.count[l], rng);
    }
    pool.centre[l] = draw_mean(pool.level, prior.pool.centre_sd, sums.sum[l],
                               sums.count[l], pool.spread, rng);
    centres += pool.centre[l];
  }
  pool.level = draw_mean(prior.pool.level_mean, prior.pool.level_sd, centres,
                         static_cast<double>(p), prior.pool.centre_sd, rng);
  state.set_pool(pool);
  sums = sums_of(state);
  move_spread(prior, sums, pool, rng);
  state.set_pool(pool);
}

namespace {

// Proposes another pool, and scales of all kernels that follow it.
template <class S, class Follow>
bool try_pool(S& state, const Pool& pool, double log_prior, double power,
              const Follow& follow, Rng& rng) {
  std::vector<ShapePointer> shapes;
  for (int j = 0; j < state.size(); ++j) {
    shapes.push_back(state.slot(j).shape);
    if (state.slot(j).location == 0) continue;
    auto shape = std::make_shared<Shape>(*shapes.back());
    if (follow(*shape)) shapes.back() = std::move(shape);
  }
  if (!try_shapes(state, std::move(shapes), log_prior, power, rng)) {
    return false;
  }
  state.set_pool(pool);
  return true;
}

}  // namespace

// (B85): one common scale, or all of them and their level, with those of all
// kernels.
template <class S>
bool pool_shift_move(S& state, double power, double step, Rng& rng) {
  if (!state.prior().pooled) return false;
  const PoolPrior& prior = state.prior().pool;
  Pool pool = state.pool();
  const int p = static_cast<int>(pool.centre.size());
  const double shift = step * rng.normal();
  double log_prior;
  int only = -1;
  if (rng.uniform() < 0.5) {
    log_prior = -log_normal(pool.level, prior.level_mean, prior.level_sd);
    pool.level += shift;
    for (double& centre : pool.centre) centre += shift;
    log_prior += log_normal(pool.level, prior.level_mean, prior.level_sd);
  } else {
    only = static_cast<int>(rng.index(p));
    double& centre = pool.centre[only];
    log_prior = -log_normal(centre, pool.level, prior.centre_sd);
    centre += shift;
    log_prior += log_normal(centre, pool.level, prior.centre_sd);
  }
  return try_pool(
      state, pool, log_prior, power,
      [&](Shape& shape) {
        bool changed = false;
        for (int l = 0; l < p; ++l) {
          if ((only >= 0 && l != only) || !shape.included[l]) continue;
          shape.log_lambda[l] += shift;
          changed = true;
        }
        return changed;
      },
      rng);
}

// (B86): the spread, with the distances of all scales from the common ones.
template <class S>
bool pool_stretch_move(S& state, double power, double step, Rng& rng) {
  if (!state.prior().pooled) return false;
  const PoolPrior& prior = state.prior().pool;
  Pool pool = state.pool();
  const double from = pool.spread, move = step * rng.normal();
  const double factor = std::exp(move);
  pool.spread *= factor;
  const double log_prior = move + 0.5 * (square(from / prior.spread_sd) -
                                         square(pool.spread / prior.spread_sd));
  return try_pool(
      state, pool, log_prior, power,
      [&](Shape& shape) {
        bool changed = false;
        for (std::size_t l = 0; l < shape.included.size(); ++l) {
          if (!shape.included[l]) continue;
          shape.log_lambda[l] =
              pool.centre[l] + factor * (shape.log_lambda[l] - pool.centre[l]);
          changed = true;
        }
        return changed;
      },
      rng);
}

template void pool_move(State&, Rng&);
template void pool_move(GlmState&, Rng&);
template bool pool_shift_move(State&, double, double, Rng&);
template bool pool_shift_move(GlmState&, double, double, Rng&);
template bool pool_stretch_move(State&, double, double, Rng&);
template bool pool_stretch_move(GlmState&, double, double, Rng&);

}  // namespace kernelbayes::bark
