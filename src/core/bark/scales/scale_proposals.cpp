#include "scale_proposals.hpp"

#include <type_traits>

#include "clusters.hpp"
#include "core/bark/coefficients/backfit.hpp"
#include "core/bark/coefficients/open.hpp"
#include "core/bark/glm/glm_state.hpp"
#include "core/bark/moves/moves.hpp"

namespace kernelbayes::bark {

int Scales::n_included() const {
  int sum = 0;
  for (const char in : included) sum += in;
  return sum;
}

double Scales::total() const {
  double sum = 0;
  for (int l = 0; l < p(); ++l) {
    if (included[l]) sum += std::exp(log_lambda[l]);
  }
  return sum;
}

int choose_included(const Scales& scales, Rng& rng, int but) {
  int k = static_cast<int>(rng.index(scales.n_included() - (but >= 0)));
  for (int l = 0;; ++l) {
    if (!scales.included[l] || l == but) continue;
    if (k-- == 0) return l;
  }
}

ShapePointer changed(const Shape& shape, const ScaleChange& change) {
  auto out = std::make_shared<Shape>(shape);
  for (double& scale : out->log_lambda) scale += change.shift;
  for (const auto& one : change.ones) {
    out->log_lambda[one.predictor] = one.log_lambda;
    out->included[one.predictor] = one.included;
  }
  return out;
}

namespace {

// The scales of a kernel: those of its group of inputs, if there are groups.
ScaleProposal propose_own(const Prior& prior, const Shape& own,
                          const Pool* pool, const ProposeScales& propose) {
  if (prior.groups.empty()) {
    return propose({prior, own.log_lambda, own.included, pool});
  }
  const std::vector<int>& inputs = prior.groups[own.group];
  std::vector<double> log_lambda;
  std::vector<char> included;
  for (const int l : inputs) {
    log_lambda.push_back(own.log_lambda[l]);
    included.push_back(own.included[l]);
  }
  ScaleProposal out = propose({prior, log_lambda, included, pool});
  for (auto& one : out.change.ones) one.predictor = inputs[one.predictor];
  return out;
}

}  // namespace

template <class S>
bool change_scales(S& state, double power, Rng& rng,
                   const ProposeScales& propose) {
  const Prior& prior = state.prior();
  if (!prior.own_scales) {
    const ScaleProposal next =
        propose({prior, state.log_lambda(), state.included()});
    return next.possible &&
           try_scales(state, next.change, next.log_ratio, power, rng);
  }
  if (state.size() == 0) return false;
  const int j = static_cast<int>(rng.index(state.size()));
  const Slot& slot = state.slot(j);
  if (slot.location == 0) return false;
  const Shape& own = *slot.shape;
  const ScaleProposal next =
      propose_own(prior, own, prior.pooled ? &state.pool() : nullptr, propose);
  if (!next.possible) return false;
  if constexpr (std::is_same_v<S, State>) {
    if (prior.clustered()) {
      const std::vector<int> cluster = cluster_of(state, j);
      if (cluster.size() > 1) {
        return change_cluster(state, cluster, next, power, rng);
      }
    }
  }
  const Place place{slot.location, changed(own, next.change)};
  return move_kernel(state, j, place, next.log_ratio, power, rng);
}

template bool change_scales(State&, double, Rng&, const ProposeScales&);
template bool change_scales(Backfit&, double, Rng&, const ProposeScales&);
template bool change_scales(GlmState&, double, Rng&, const ProposeScales&);
template bool change_scales(OpenState&, double, Rng&, const ProposeScales&);

}  // namespace kernelbayes::bark
