#include "varying_level.hpp"

#include <stdexcept>

#include "core/archive.hpp"
#include "glm_level.hpp"
#include "varying_likelihood.hpp"

namespace kernelbayes {
namespace bark {

namespace {

std::unique_ptr<Data> data_of_mean(const Data& data) {
  auto out = std::make_unique<Data>(data);
  out->family = Family::kKnownVariance;
  // Without terms these have no rows.
  if (!out->terms.any()) out->terms.linear.resize(data.n(), 0);
  return out;
}

// The residuals are its responses.
std::unique_ptr<Data> data_of_noise(const Data& data, const Varying& noise) {
  auto out = std::make_unique<Data>(data);
  out->family = Family::kLogVariance;
  out->terms = {};
  out->terms.linear = Eigen::VectorXd::Ones(data.n());
  out->terms.linear_sd = Eigen::VectorXd::Constant(1, noise.sd);
  out->terms.linear_mean = Eigen::VectorXd::Constant(1, noise.mean);
  return out;
}

}  // namespace

VaryingState::VaryingState(const Data& data, const Prior& prior,
                           const Varying& noise)
    : mean_data_(data_of_mean(data)), noise_data_(data_of_noise(data, noise)) {
  noise_ = std::make_unique<GlmState>(*noise_data_, noise.prior);
  mean_ = std::make_unique<GlmState>(*mean_data_, prior);
  tell_noise();
}

void VaryingState::tell_noise() {
  noise_->set_response(*noise_data_, mean_data_->y - mean_->fit());
}

void VaryingState::tell_mean() {
  const Eigen::ArrayXd g = noise_->fit().array();
  mean_data_->weights =
      noise_data_->weights.array() * exp_minus(*noise_data_->arithmetic, g);
  mean_->read_data();
}

void VaryingState::sweep(Counts& counts, Rng& rng) {
  // The sweep is then a function of what is stored.
  noise_->compute();
  tell_mean();
  glm_sweep(*mean_, kernel_rounds(mean_->prior()), counts, rng);
  tell_noise();
  glm_sweep(*noise_, kernel_rounds(noise_->prior()), counts, rng);
}

// Exponentials of draws of the prior may overflow.
Eigen::VectorXd VaryingState::bounded() const {
  constexpr double kMost = 600;
  return noise_->fit().array().min(kMost).max(-kMost);
}

double VaryingState::log_likelihood() const {
  return noise_->likelihood().log_likelihood(bounded());
}

double VaryingState::mean_variance() const {
  return bounded().array().exp().mean();
}

void VaryingState::draw_prior(Rng& rng) {
  mean_->draw_prior(rng);
  noise_->draw_prior(rng);
  tell_noise();
}

Eigen::VectorXd VaryingState::simulate(Rng& rng) const {
  return mean_->fit() + noise_->likelihood().simulate(noise_->fit(), rng);
}

void VaryingState::set_response(Eigen::VectorXd y) {
  mean_->set_response(*mean_data_, std::move(y));
  tell_noise();
}

void VaryingState::transfer(Archive& archive) {
  archive.within("mean", [this](Archive& list) { mean_->transfer(list); });
  archive.within("noise", [this](Archive& list) { noise_->transfer(list); });
  if (archive.reading()) tell_noise();
}

void VaryingDraws::transfer(Archive& archive) {
  kernels.transfer(archive, model->prior);
  archive("noise", noise);
  archive("log_likelihood", log_likelihood, Want::anything());
  if (model->data.terms.any()) terms.transfer(archive);
  archive.within("varying", [this](Archive& list) {
    noise_kernels.transfer(list, model->varying.prior);
    list("intercept", intercept);
  });
}

VaryingLevel::VaryingLevel(const Model& model, int, Rng& rng)
    : model_(&model), state_(model.data, model.prior, model.varying) {
  if (model.prior_only) state_.draw_prior(rng);
}

void VaryingLevel::sweep(const Turn&, Counts& counts, Rng& rng) {
  if (model_->prior_only) return state_.draw_prior(rng);
  state_.sweep(counts, rng);
}

void VaryingLevel::record(Draws& draws, Rng&) const {
  draws.kernels.record(state_.mean());
  draws.noise_kernels.record(state_.noise());
  draws.noise.push_back(1 / state_.mean_variance());
  draws.log_likelihood.push_back(state_.log_likelihood());
  draws.intercept.push_back(state_.noise().terms().gamma[0]);
  draws.terms.add(state_.mean().terms());
  draws.terms.level.push_back(state_.mean().kernel_mean());
}

double VaryingLevel::observe() const {
  throw std::logic_error("this sampler has no ladder");
}

}  // namespace bark
}  // namespace kernelbayes
