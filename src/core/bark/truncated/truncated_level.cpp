#include "truncated_level.hpp"

namespace kernelbayes::bark {

void TruncatedDraws::transfer(Archive& archive) {
  kernels.transfer(archive, model->prior);
  archive("noise", noise);
  archive("log_likelihood", log_likelihood, Want::anything());
}

TruncatedLevel::TruncatedLevel(const Model& model, int index, Rng& rng)
    : model_(&model),
      index_(index),
      state_(model.data, model.prior),
      sweep_(model.prior, model.data.p()) {
  state_.set_amplitude(rung().amplitude);
  if (model.prior_only) {
    draw_prior(state_, rng);
  } else {
    draw_start(state_, rng);
  }
}

void TruncatedLevel::sweep(const Turn& turn, Counts& counts, Rng& rng) {
  if (model_->ladder && index_ == 0) {
    draw_prior(state_, rng);
    draw_latent(state_, rng);
    return;
  }
  sweep_.full(state_, rung().power, turn.adapts(), counts, rng);
}

void TruncatedLevel::record(Draws& draws, Rng&) const {
  draws.noise.push_back(state_.noise());
  draws.log_likelihood.push_back(model_->data.latent()
                                     ? probit_log_likelihood(state_, 1)
                                     : state_.log_likelihood());
  record_kernels(draws.kernels);
}

void TruncatedLevel::record_kernels(KernelDraws& draws) const {
  const auto& scales = state_.log_lambda();
  const auto& included = state_.included();
  draws.log_lambda.insert(draws.log_lambda.end(), scales.begin(), scales.end());
  draws.included.insert(draws.included.end(), included.begin(), included.end());
  const std::size_t first = draws.location.size();
  std::vector<int> at(model_->data.n() + 1, -1);
  for (int j = 0; j < state_.size(); ++j) {
    const Kernel& kernel = state_.kernel(j);
    int& slot = at[kernel.location];
    if (slot < 0) {
      slot = static_cast<int>(draws.location.size());
      draws.location.push_back(kernel.location);
      draws.copies.push_back(0);
      draws.beta.push_back(0);
    }
    ++draws.copies[slot];
    draws.beta[slot] += kernel.beta;
  }
  draws.m.push_back(static_cast<int>(draws.location.size() - first));
}

double TruncatedLevel::observe() const {
  return tempered(state_, model_->rungs[index_ + 1]) - tempered(state_, rung());
}

void TruncatedLevel::transfer(Archive& archive) {
  state_.transfer(archive);
  archive.within("steps", [this](Archive& list) { sweep_.transfer(list); });
}

bool exchange(TruncatedLevel& one, TruncatedLevel& other, Rng& rng) {
  return exchange(one.state_, one.rung(), other.state_, other.rung(), rng);
}

}  // namespace kernelbayes::bark
