#include "draws.hpp"

#include "core/bark/glm/glm_state.hpp"

#include "core/bark/moves/moves.hpp"

namespace kernelbayes::bark {

namespace {

template <class To, class From>
void append(To& to, const From& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append(std::vector<double>& to, const double* from, Eigen::Index n) {
  to.insert(to.end(), from, from + n);
}

// Zeros for the intercept, which has no shape.
template <class S>
void record_shape(const S& state, const Shape* shape, KernelDraws& draws) {
  const std::size_t p = state.data().p();
  const auto add = [p](auto& to, const auto* from) {
    if (from) {
      append(to, *from);
    } else {
      to.insert(to.end(), p, 0);
    }
  };
  if (state.prior().centre_sd > 0) {
    add(draws.centre, shape ? &shape->centre : nullptr);
  }
  if (!state.prior().own_scales) return;
  add(draws.own_log_lambda, shape ? &shape->log_lambda : nullptr);
  add(draws.own_included, shape ? &shape->included : nullptr);
}

}  // namespace

Eigen::VectorXd KernelDraws::record(const State& state, bool prior_only,
                                    Rng& rng) {
  const int size = state.size();
  const State::Factor from = prior_only ? state.prior_factor() : state.factor();
  const Eigen::VectorXd drawn = State::draw_coefficients(from, rng);
  m.push_back(size);
  if (!state.prior().own_scales) {
    append(log_lambda, state.log_lambda());
    append(included, state.included());
  }
  const Eigen::MatrixXd& u = state.directions();
  append(directions, u.data(), u.size());
  for (int j = 0; j < size; ++j) {
    location.push_back(state.slot(j).location);
    copies.push_back(state.slot(j).copies);
    record_shape(state, state.slot(j).shape.get(), *this);
  }
  append(beta, drawn.data(), size);
  // With slopes, f is known by the draws of all coefficients only.
  if (state.data().terms.slopes > 0) return drawn;
  for (int j = 0; j < size; ++j) variance.push_back(state.variance(j));
  append(z, from.z.data(), size);
  for (int j = 0; j < size; ++j) {
    for (int i = j; i < size; ++i) factor.push_back(from.lower(i, j));
  }
  return drawn;
}

void KernelDraws::record(const GlmState& state) {
  m.push_back(state.size());
  for (int j = 0; j < state.size(); ++j) {
    const Slot& slot = state.slot(j);
    location.push_back(slot.location);
    copies.push_back(1);
    beta.push_back(state.beta(j));
    record_shape(state, slot.shape.get(), *this);
  }
}

void KernelDraws::transfer(Archive& archive, const Prior& prior) {
  archive("m", m);
  archive("location", location);
  archive("copies", copies);
  archive("included", included);
  archive("log_lambda", log_lambda);
  archive("variance", variance);
  archive("beta", beta);
  archive("factor", factor);
  archive("z", z);
  if (prior.directions > 0) archive("directions", directions);
  if (prior.centre_sd > 0) archive("centre", centre);
  if (!prior.own_scales) return;
  archive("own_log_lambda", own_log_lambda);
  archive("own_included", own_included);
}

Eigen::VectorXd TermDraws::record(const State& state,
                                  const Eigen::VectorXd& beta, bool prior_only,
                                  Rng& rng) {
  const Response& response = state.response_model();
  const Eigen::VectorXd fit = state.columns() * beta;
  Eigen::VectorXd residuals = response.residuals(fit);
  TermValues values = response.terms().values();
  if (prior_only) {
    response.terms().subtract_active(values, residuals);
  } else {
    values = draw_terms(state, residuals, rng);
  }
  add(state.data().terms, values, response.unweighted(fit).mean());
  return residuals;
}

void TermDraws::add(const TermData& data, const TermValues& values,
                    double kernels) {
  const int p = data.slopes;
  const Eigen::VectorXd own = values.gamma.tail(p);
  append(gamma, values.gamma.head(values.gamma.size() - p));
  level.push_back(kernels + data.linear.rightCols(p).colwise().mean().dot(own));
  if (p > 0) {
    append(slopes, own);
    slope_sd.push_back(values.slope_sd);
  }
  for (const TermValues::Factor& factor : values.factors) {
    append(effects, factor.b.data(), factor.b.size());
    append(covariances, factor.sigma.data(), factor.sigma.size());
  }
}

void TermDraws::transfer(Archive& archive) {
  archive("gamma", gamma);
  archive("effects", effects);
  archive("covariances", covariances);
  archive("level", level);
  archive.optional(!slopes.empty(), "slopes", slopes);
  archive.optional(!slope_sd.empty(), "slope_sd", slope_sd);
}

}  // namespace kernelbayes::bark
