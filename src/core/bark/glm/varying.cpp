#include "varying.hpp"

#include "core/archive.hpp"
#include "core/bark/moves/moves.hpp"
#include "glm_chain.hpp"
#include "glm_likelihood.hpp"
#include "kernelbayes/constants.hpp"

namespace kernelbayes::bark {

namespace {

// Rows of weight 1 have the variance exp(level), so that chains start near it.
Prior with_noise(Prior prior, double level) {
  prior.df.clear();
  prior.noise_fixed = true;
  prior.noise_precision = std::exp(-level);
  return prior;
}

// The degrees of freedom belong to it.
Prior prior_of_noise(const Varying& noise, const Prior& prior) {
  Prior out = noise.prior;
  out.df = prior.df;
  return out;
}

// Its responses are sqrt(w) (y - f).
Data data_of_noise(const Data& data, const Varying& noise) {
  Data out = data;
  out.family = family("log_variance");
  out.weights.setOnes();
  out.floor = noise.floor;
  out.terms = {};
  out.terms.linear = Eigen::VectorXd::Ones(data.n());
  out.terms.linear_sd = Eigen::VectorXd::Constant(1, noise.sd);
  out.terms.linear_mean = Eigen::VectorXd::Constant(1, noise.mean);
  return out;
}

double prior_omega(const GlmState& noise, Rng& rng) {
  const std::vector<double> parameters = noise.likelihood().parameters();
  if (parameters.empty()) return 1;
  const double half = parameters.front() / 2;
  return rng.gamma(half) / half;
}

// Two rounds for each expected kernel double the effective draws of g for a
// fifth of the time. Where a sweep of the mean has many moves, one of the noise
// has more, too.
int noise_rounds(const State& mean, const Prior& noise) {
  return kernel_rounds(noise) * (backfits(mean, 1) ? 10 : 2);
}

}  // namespace

VaryingState::VaryingState(const Data& data, const Prior& prior,
                           const Varying& noise)
    : level_(noise.mean),
      prior_(std::make_unique<Prior>(with_noise(prior, level_))),
      noise_prior_(std::make_unique<Prior>(prior_of_noise(noise, prior))),
      mean_data_(std::make_unique<Data>(data)),
      noise_data_(std::make_unique<Data>(data_of_noise(data, noise))),
      mean_(std::make_unique<State>(*mean_data_, *prior_)),
      noise_(std::make_unique<GlmState>(*noise_data_, *noise_prior_)),
      sweep_(*prior_, *mean_data_),
      omega_(Eigen::VectorXd::Ones(data.n())) {
  mean_->set_noise(prior_->noise_precision);
  tell_mean();
}

// Exponentials of draws of the prior may overflow.
Eigen::VectorXd VaryingState::bounded() const {
  constexpr double kMost = 300;
  return noise_->fit().array().min(kMost).max(noise_data_->floor);
}

Eigen::VectorXd VaryingState::row_weights() const {
  return omega_.array() *
         exp_minus(*noise_data_->arithmetic, bounded().array() - level_);
}

// (B134).
void VaryingState::draw_omega(const Eigen::VectorXd& residuals, Rng& rng) {
  const std::vector<double> parameters = noise_->likelihood().parameters();
  if (parameters.empty()) return;
  const double df = parameters.front();
  omega_ = residuals.array().square() *
           exp_minus(*noise_data_->arithmetic, bounded());
  for (double& value : omega_) {
    value = rng.gamma((df + 1) / 2) / ((df + value) / 2);
  }
}

double VaryingState::log_likelihood(const Eigen::VectorXd& residuals) const {
  Data of;
  of.y = residuals;
  of.arithmetic = noise_data_->arithmetic;
  const LikelihoodPtr likelihood = log_variance(of, *noise_prior_);
  likelihood->set_parameters(noise_->likelihood().parameters());
  return likelihood->log_likelihood(bounded()) +
         0.5 * mean_data_->weights.array().log().sum();
}

double VaryingState::mean_variance() const {
  return bounded().array().exp().mean();
}

void VaryingState::draw_start(Rng& rng) { bark::draw_start(*mean_, rng); }

void VaryingState::draw_prior(Rng& rng) {
  noise_->draw_prior(rng);
  for (double& value : omega_) value = prior_omega(*noise_, rng);
  bark::draw_prior(*mean_, rng);
  draw_prior_terms(*mean_, rng);
}

void VaryingState::sweep(bool first, bool adapt, Counts& counts, Rng& rng) {
  // The sweep is then a function of what is stored.
  noise_->compute();
  tell_mean();
  if (first) start_on_subset(*mean_, rng);
  sweep_.full(*mean_, 1, adapt, counts, rng);
  move_noise(rng);
}

void VaryingState::sweep_prior(bool adapt, Counts& counts, Rng& rng) {
  noise_->draw_prior(rng);
  sweep_.full(*mean_, 0, adapt, counts, rng);
}

// As Student's row weights are drawn, with the terms if there are any.
void VaryingState::move_noise(Rng& rng) {
  Eigen::VectorXd fit;
  if (!draw_fit(*mean_, fit, rng)) return;
  Eigen::VectorXd residuals = mean_->response_model().residuals(fit);
  const bool terms = mean_data_->terms.any();
  TermValues values;
  if (terms) values = draw_terms(*mean_, residuals, rng);
  residuals = unweighted(*mean_, residuals);
  noise_->set_response(*noise_data_, residuals);
  Counts of_noise;
  glm_sweep(*noise_, noise_rounds(*mean_, noise_->prior()), of_noise, rng);
  draw_omega(residuals, rng);
  if (!terms) return tell_mean();
  mean_->set_terms(std::move(values), false, mean_->noise(), row_weights());
}

void VaryingState::set_response(Eigen::VectorXd y) {
  mean_data_->y = std::move(y);
  tell_mean();
}

void VaryingState::transfer(Archive& archive) {
  archive.within("noise", [this](Archive& list) { noise_->transfer(list); });
  if (!noise_prior_->df.empty()) {
    archive("omega", omega_, Want::positive(mean_data_->n()));
  }
  archive.within("mean",
                 [this](Archive& list) { mean_->transfer(list, false); });
  archive.within("steps", [this](Archive& list) { sweep_.transfer(list); });
  if (archive.reading()) tell_mean();
}

void VaryingChain::sweep(const Turn& turn, const Rung&, Counts& counts,
                         Rng& rng) {
  if (model_->prior_only) {
    return state_.sweep_prior(turn.adapts(), counts, rng);
  }
  state_.sweep(turn.time == 0, turn.adapts(), counts, rng);
}

void VaryingChain::record(Draws& draws, Rng& rng) const {
  const State& mean = state_.mean();
  const bool prior_only = model_->prior_only;
  const Eigen::VectorXd beta = draws.kernels.record(mean, prior_only, rng);
  Eigen::VectorXd residuals;
  if (model_->data.terms.any()) {
    residuals = draws.terms.record(mean, beta, prior_only, rng);
  } else {
    residuals = mean.response() - mean.columns() * beta;
  }
  draws.noise_kernels.record(state_.noise());
  draws.intercept.push_back(state_.noise().terms().gamma[0]);
  draws.noise.push_back(1 / state_.mean_variance());
  for (const double df : state_.noise().likelihood().parameters()) {
    draws.df.push_back(df);
  }
  draws.log_likelihood.push_back(
      state_.log_likelihood(unweighted(mean, residuals)));
}

}  // namespace kernelbayes::bark
