#include "places.hpp"

#include "core/bark/scales/scales.hpp"
#include "state.hpp"

namespace kernelbayes::bark {

namespace {

// (B108).
void draw_group(const Prior& prior, int p, Shape& shape, Rng& rng) {
  const auto count = static_cast<std::uint32_t>(prior.groups.size());
  shape.group = static_cast<int>(rng.index(count));
  const std::vector<int>& inputs = prior.groups[shape.group];
  const std::vector<char> included =
      draw_included(prior, static_cast<int>(inputs.size()), rng);
  shape.log_lambda = spread_group(draw_scales(prior, included, rng), inputs, p);
  shape.included = spread_group(included, inputs, p);
}

}  // namespace

Place draw_place(const State& state, Rng& rng) {
  Place out = draw_place(state.prior(), state.data(), state.pool(), rng);
  if (state.prior().clustered() && out.shape) {
    out.shape = join_or_found(out.shape, shapes_of(state),
                              state.pool().concentration, rng);
  }
  return out;
}

Place draw_place(const Prior& prior, const Data& data, const Pool& pool,
                 Rng& rng) {
  Place out{prior.centres.draw(data.n(), rng), nullptr};
  if (out.location == 0 || !prior.shaped()) return out;
  auto shape = std::make_shared<Shape>();
  if (prior.centre_sd > 0) {
    for (int l = 0; l < data.p(); ++l) {
      shape->centre.push_back(data.x(out.location - 1, l) +
                              prior.centre_sd * rng.normal());
    }
    out.location = kElsewhere;
  }
  if (prior.pooled) {
    draw_pooled_scales(prior, pool, *shape, rng);
  } else if (!prior.groups.empty()) {
    draw_group(prior, data.p(), *shape, rng);
  } else if (prior.own_scales) {
    shape->included = draw_included(prior, data.p(), rng);
    shape->log_lambda = draw_scales(prior, shape->included, rng);
  }
  out.shape = std::move(shape);
  return out;
}

// (B10): the row from which a centre came is summed out and is not part of the
// state.
double log_centre_density(const State& state,
                          const std::vector<double>& centre) {
  const Prior& prior = state.prior();
  const Data& data = state.data();
  Eigen::ArrayXd distances = Eigen::ArrayXd::Zero(data.n());
  for (int l = 0; l < data.p(); ++l) {
    distances += (data.x.col(l).array() - centre[l]).square();
  }
  distances /= 2 * prior.centre_sd * prior.centre_sd;
  for (int i = 0; i < data.n(); ++i) {
    distances[i] -= std::log(prior.centres.probability(i + 1, data.n()));
  }
  const double least = distances.minCoeff();
  return std::log((least - distances).exp().sum()) - least;
}

// (B12).
std::vector<char> draw_included(const Prior& prior, int p, Rng& rng) {
  std::vector<char> out(p, 1);
  if (!prior.selects()) return out;
  const double one = rng.gamma(prior.ap), other = rng.gamma(prior.bp);
  const double probability = one / (one + other);
  for (char& in : out) in = rng.uniform() < probability;
  return out;
}

// (B11).
std::vector<double> draw_scales(const Prior& prior,
                                const std::vector<char>& included, Rng& rng) {
  int d = 0;
  for (const char in : included) d += in;
  std::vector<double> out(included.size(), 0.0);
  if (d == 0) return out;
  if (prior.equal()) {
    out.assign(out.size(), log_gamma_draw(prior.a, prior.b * d, rng));
    return out;
  }
  for (std::size_t l = 0; l < out.size(); ++l) {
    if (!included[l]) continue;
    out[l] = log_gamma_draw(prior.share_shape(d), prior.b, rng);
  }
  return out;
}

}  // namespace kernelbayes::bark
