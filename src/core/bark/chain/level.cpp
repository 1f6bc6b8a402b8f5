#include "level.hpp"

namespace kernelbayes::bark {

std::vector<Rung> chain_rungs(int n_temps, double step, const Family& family,
                              bool prior_only) {
  std::vector<Rung> out;
  double t = 1;
  for (int level = 0; level < n_temps; ++level, t *= step) {
    out.push_back(Rung::at(t, family));
    if (prior_only) out.back().power = 0;
  }
  return out;
}

double chain_step(const Family& family) {
  return family.form == Family::kNormal ? 0.85 : 0.6;
}

std::vector<Rung> ladder_rungs(const std::vector<double>& t,
                               const Family& family) {
  if (t.size() < 2 || t.front() != 0 || t.back() != 1) {
    throw std::invalid_argument("a ladder must go from 0 to 1");
  }
  std::vector<Rung> out;
  for (const double rung : t) out.push_back(Rung::at(rung, family));
  return out;
}

Counts::Counts(const Model& model) {
  const Prior& prior = model.prior;
  const auto none = [this](MoveKind first, MoveKind last) {
    std::fill(exists.begin() + first, exists.begin() + last + 1, false);
  };
  if (model.truncated) {
    none(kGather, kVarphi);
    none(kNoise, kNoise);
    none(kCuts, kCoefficientEllipse);
    return;
  }
  none(kCoefficient, kEllipse);
  if (prior.pooled) none(kScalePair, kScalePair);
  if (model.data.glm()) {
    none(kGather, kVarphi);
    none(kNoise, kTrajectory);
    exists[kPoolShift] = exists[kPoolStretch] = prior.pooled;
    return;
  }
  if (!model.data.ordered() || model.data.classes < 3) none(kCuts, kCuts);
  if (model.data.terms.any() || model.varying.any) none(kNoise, kNoise);
  if (prior.directions == 0) none(kRotate, kRedirect);
  if (prior.own_scales) none(kGather, kGather);
  if (!prior.pooled) none(kPoolShift, kPoolStretch);
  if (!prior.clustered()) none(kCluster, kClusterLeave);
  const bool open = model.data.latent() && prior.collapsed() && model.full;
  if (!open) none(kOpenCoefficient, kCoefficientEllipse);
  if (prior.centre_sd > 0) none(kOpenLocal, kOpenLocal);
  if (!prior.selects()) none(kOpenFlip, kOpenFlip);
}

void Draws::transfer(Archive& archive) {
  const Data& data = model->data;
  kernels.transfer(archive, model->prior);
  archive("noise", noise);
  archive("log_likelihood", log_likelihood, Want::anything());
  if (data.glm()) archive("parameters", parameters);
  if (data.family->cuts) archive("cuts", cuts);
  if (model->prior.df.size() > 1) archive("df", df);
  if (data.glm() || data.terms.any()) terms.transfer(archive);
  if (!model->varying.any) return;
  archive.within("varying", [this](Archive& list) {
    noise_kernels.transfer(list, model->varying.prior);
    list("intercept", intercept);
  });
}

SumChain::SumChain(const Model& model, const Rung& rung)
    : model_(&model),
      state_(model.data, model.prior),
      sweep_(model.prior, model.data) {
  state_.set_amplitude(rung.amplitude);
}

void SumChain::draw_prior(Rng& rng) {
  bark::draw_prior(state_, rng);
  draw_prior_cuts(state_, rng);
  draw_prior_df(state_, rng);
  draw_prior_terms(state_, rng);
}

// Not in the constructor: a sampler that goes on needs no start, and chains are
// opened one by one.
void SumChain::start(const Turn& turn, Rng& rng) {
  if (turn.time == 0 && !model_->prior_only) start_on_subset(state_, rng);
}

void SumChain::sweep(const Turn& turn, const Rung& rung, Counts& counts,
                     Rng& rng) {
  // Now and then recovers the accuracy that updates lose.
  constexpr int kRefresh = 1000;
  start(turn, rng);
  if (model_->full) {
    return sweep_.full(state_, rung.power, turn.adapts(), counts, rng);
  }
  if (turn.time % kRefresh == 0) state_.refresh();
  sweep_.single(state_, rung.power, turn.adapts(), counts, rng);
}

void SumChain::lowest(const Turn& turn, Rng& rng) {
  start(turn, rng);
  sweep_.lowest(state_, turn.adapts(), rng);
}

void SumChain::record(Draws& draws, Rng& rng) const {
  const Data& data = model_->data;
  const Eigen::VectorXd beta =
      draws.kernels.record(state_, model_->prior_only, rng);
  draws.noise.push_back(state_.noise());
  if (model_->prior.df.size() > 1) draws.df.push_back(state_.df());
  draws.log_likelihood.push_back(
      data.terms.any() ? record_terms(draws, beta, rng)
      : data.family->form == Family::kNormal
          ? state_.log_likelihood()
          : response_log_likelihood(state_, state_.columns() * beta));
  if (data.ordered()) {
    draws.cuts.insert(draws.cuts.end(), state_.cuts().begin() + 1,
                      state_.cuts().end() - 1);
  }
}

// The log likelihood given a draw of the terms, too.
double SumChain::record_terms(Draws& draws, const Eigen::VectorXd& beta,
                              Rng& rng) const {
  const Eigen::VectorXd residuals =
      draws.terms.record(state_, beta, model_->prior_only, rng);
  if (!state_.data().latent()) return noise_log_likelihood(state_, residuals);
  return class_log_likelihood(state_, state_.cuts(),
                              state_.response_model().explained(residuals));
}

void SumChain::transfer(Archive& archive) {
  state_.transfer(archive, !model_->full);
  archive.within("steps", [this](Archive& list) { sweep_.transfer(list); });
}

}  // namespace kernelbayes::bark
