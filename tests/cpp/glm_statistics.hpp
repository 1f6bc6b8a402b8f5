#pragma once

#include <cmath>
#include <vector>

#include "core/bark/glm/glm_state.hpp"
#include "squash.hpp"

namespace testing_r {

using namespace kernelbayes;

/// Numbers that describe a state, but not its likelihood.
inline std::vector<double> glm_statistics(const bark::GlmState& state) {
  double varphi = 0, beta = 0, scale = 0, included = 0, intercept = 0;
  for (int j = 0; j < state.size(); ++j) {
    varphi += squash(std::log(state.slot(j).varphi[0]));
    beta += squash(state.beta(j));
    const auto& shape = state.slot(j).shape;
    if (!shape) ++intercept;
    if (!shape) continue;
    for (std::size_t l = 0; l < shape->included.size(); ++l) {
      if (!shape->included[l]) continue;
      ++included;
      scale += squash(shape->log_lambda[l]);
    }
  }
  std::vector<double> out{double(state.size()),
                          varphi,
                          beta,
                          scale,
                          included,
                          intercept,
                          squash(state.terms().gamma[0]),
                          squash(state.terms().gamma.sum()),
                          squash(state.fit()[0]),
                          squash(state.fit()[1])};
  if (state.prior().pooled) {
    const bark::Pool& pool = state.pool();
    out.insert(out.end(), {squash(pool.level), squash(std::log(pool.spread)),
                           squash(pool.centre[0]), squash(pool.centre[1]),
                           pool.inclusion[0], pool.inclusion[1]});
  }
  if (const int p = state.data().terms.slopes; p > 0) {
    out.push_back(squash(std::log(state.terms().slope_sd)));
    out.push_back(squash(state.terms().gamma.tail(p).norm()));
  }
  for (const auto& factor : state.terms().factors) {
    out.push_back(squash(factor.b(0, 0)));
    out.push_back(squash(factor.b(0, 1)));
    out.push_back(squash(std::log(factor.sigma(0, 0))));
    out.push_back(squash(factor.sigma(0, factor.sigma.cols() - 1)));
    out.push_back(squash(factor.b.norm()));
    out.push_back(squash(std::log(factor.auxiliary[0])));
  }
  for (const double v : state.likelihood().parameters()) {
    out.push_back(squash(std::log(v)));
  }
  return out;
}

}  // namespace testing_r
