#include "core/machine.hpp"
#include "filter.hpp"
#include "transfer.hpp"

namespace kernelbayes::srvm {

void Records::transfer_path(Archive& archive, int steps) {
  archive("mean_k", mean_k, Want::of(steps));
  archive("mean_sigma", mean_sigma, Want{steps, 0, 0, true});
  archive("tried", tried, Want::of(3 * steps));
  archive("accepted", accepted, Want::of(3 * steps));
}

void Records::transfer_history(Archive& archive) {
  archive("weights", weights);
  archive("k", set_sizes);
  archive("rows", sets);
}

Filter::Filter(const Config& config, const Eigen::MatrixXd& x,
               const Eigen::MatrixXd& y, Executor executor)
    : config_(config),
      rows_(config.past + static_cast<int>(x.rows())),
      executor_(std::move(executor)),
      target_(config, x, y),
      smc_(config.smc, target_) {}

void Filter::advance(int n) {
  const Stopwatch watch;
  for (int i = 0; i < n && time() < rows_; ++i) smc_.step(executor_);
  target_.records().seconds += watch.seconds();
}

void Filter::rejuvenate(int particles) {
  const Stopwatch watch;
  target_.rejuvenates(true);
  smc_.rejuvenate(particles, executor_);
  target_.rejuvenates(false);
  target_.records().seconds += watch.seconds();
}

void Filter::transfer(Archive& archive) {
  auto state = smc_.state();
  const std::size_t n = smc_.particles().size();
  auto particles =
      archive.reading() ? std::vector<Particle>() : smc_.particles();
  Records records = target_.records();
  archive("time", state.time, Want::between(config_.past, rows_));
  const int steps = state.time - config_.past;
  srvm::transfer(archive, particles, config_.model.fixed());
  transfer_scales(archive, particles, config_.model, target_.predictors());
  transfer_spreads(archive, particles, config_.model);
  transfer_df(archive, particles, config_.model);
  archive.require(particles.size() == n, "k", "one per particle");
  archive("log_evidence", state.log_evidence);
  archive("log_weights", state.log_weights, Want{Eigen::Index(n), 0, 0, true});
  archive.within("genealogy", [&](Archive& list) {
    srvm::transfer(list, state.genealogy, n);
  });
  archive("rejuvenations", state.rejuvenations, Want::tally());
  archive("ancestors", state.ancestors);
  archive.within("path", [&](Archive& list) {
    srvm::transfer(list, state.path, steps);
    records.transfer_path(list, steps);
  });
  archive.within("history",
                 [&](Archive& list) { records.transfer_history(list); });
  archive("seconds", records.seconds, Want::between(0, 1e300));
  archive("shared_seconds", records.shared_seconds, Want::between(0, 1e300));
  CandidatePool::State pool;
  if (target_.accumulates()) {
    if (!archive.reading()) pool = target_.pool().state();
    transfer_accumulated(archive, particles, pool, state.time);
  }
  if (!archive.reading()) return write_results(archive);
  target_.restore(state.time, pool, particles, known_, executor_);
  target_.records() = std::move(records);
  smc_.restore(std::move(state), std::move(particles));
}

void Filter::transfer_accumulated(Archive& archive,
                                  std::vector<Particle>& particles,
                                  CandidatePool::State& pool, int time) const {
  const bool latent = config_.model.latent();
  const int rows =
      config_.memory.window > 0 ? std::min(time, config_.memory.window) : time;
  archive.within("sums", [&](Archive& list) {
    transfer_sums(list, particles, latent ? rows : 0);
  });
  archive.within("pool", [&](Archive& list) { srvm::transfer(list, pool); });
}

// What follows from the state, and one Gibbs draw of coefficients and variances
// for each particle; `coef` is the variance of the coefficients in the scaled
// form too.
void Filter::write_results(Archive& archive) const {
  double variance = smc_.relative_variance();
  archive("relative_variance", variance);
  std::vector<double> weights = smc_.weights();
  archive("weights", weights);
  std::vector<int> rows = candidate_rows(target_.pool());
  archive("candidate_rows", rows);
  const auto& particles = smc_.particles();
  std::vector<double> beta, all, noise, coef;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    Particle copy = particles[i];
    Rng rng = smc_.output_stream(static_cast<int>(i));
    target_.draw(copy, rng, beta);
    all.insert(all.end(), beta.begin(), beta.end());
    noise.push_back(copy.noise);
    coef.push_back(copy.coef * (config_.model.scaled ? copy.noise : 1));
  }
  archive.within("draws", [&](Archive& list) {
    list("beta", all);
    list("noise", noise);
    list("coef", coef);
  });
}

}  // namespace kernelbayes::srvm
