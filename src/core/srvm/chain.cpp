#include "chain.hpp"

#include <stdexcept>

#include "core/machine.hpp"
#include "latent.hpp"
#include "psi_moves.hpp"
#include "scales.hpp"
#include "spread.hpp"
#include "transfer.hpp"

namespace kernelbayes::srvm {

namespace {

void transfer_moves(Archive& archive, MoveCounts& moves) {
  const std::vector<std::string> names{"birth", "death", "swap"};
  const auto carry = [&](const char* name, int* counts) {
    std::vector<int> values(counts, counts + names.size());
    archive(name, values, Want::tally(names.size()));
    archive.label(name, names);
    std::copy(values.begin(), values.end(), counts);
  };
  carry("tried", moves.tried);
  carry("accepted", moves.accepted);
}

}  // namespace

namespace {

// The number of columns that the on-demand pool holds: about 256 MB.
std::size_t cache_size(const Config& config, int rows) {
  const std::size_t fit = (std::size_t{1} << 25) / std::max(rows, 1);
  const int most = rows * static_cast<int>(config.model.kernels.size());
  const std::size_t least = 2 * (config.model.centres.limit(most) + 1);
  return std::max(std::min<std::size_t>(fit, 1024), least);
}

}  // namespace

Chain::Chain(const Config& config, const ChainSettings& settings,
             const Eigen::MatrixXd& x, const Eigen::MatrixXd& y,
             const Executor& executor)
    : config_(config),
      settings_(settings),
      x_(x),
      y_(data_of(y, config.model.shift)),
      pool_(config.model.kernels, config.model.fixed_columns, true),
      scratch_(0),
      rng_(settings.seed) {
  if (x.rows() != y.rows()) {
    throw std::invalid_argument("x and y have different numbers of rows");
  }
  for (const Kernel& kernel : config_.model.kernels) {
    kernel.check_dimension(x.cols());
  }
  pool_.reserve(static_cast<int>(x.rows()));
  const Stopwatch watch;
  const bool own = config_.model.learns_scales();
  if (own) pool_.leave_columns_to_particles(config_.model.own_kernels(x_));
  if (own || worth_all_pairs()) {
    pool_.rebuild(x_, y_, static_cast<int>(x.rows()), {}, executor);
  } else {
    const int rows = static_cast<int>(x.rows());
    pool_.fill_on_demand(x_, y_, cache_size(config_, rows));
  }
  scratch_ = Scratch(config_.model.most_columns(pool_.size()) + 2);
  start();
  seconds_ = watch.seconds();
}

// Whether the Gram matrix of all rows is less work than the sums that the moves
// will need (assuming 30 centres), and takes at most about a second: it cannot
// be interrupted, and a resumed run computes it again.
bool Chain::worth_all_pairs() const {
  // These sums are weighted, by each chain's own weights.
  if (config_.model.response == Response::kStudent) return false;
  constexpr double kMostWork = 2e9;  // multiplications
  const double n = static_cast<double>(x_.rows());
  const double candidates = n * pool_.kernels();
  const double pairs = candidates * candidates / 2;
  const double asked = 30.0 * total() * config_.n_moves;
  return n * pairs <= kMostWork && pairs <= std::max(asked, 1e5);
}

void Chain::start() {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    draw_start();
    refactor(particle_, config_.model);
    if (is_valid()) return;
  }
  throw std::runtime_error("no draw from the prior has a finite likelihood");
}

// A draw from the prior: chains start far apart. Latent variables are drawn
// given f = 0: given an f that does not suit the classes they would keep it
// there.
void Chain::draw_start() {
  const Model& model = config_.model;
  particle_ = Particle();
  if (model.learns_scales()) {
    particle_.own.use(model.scales.draw(static_cast<int>(x_.cols()), rng_));
  }
  const CandidateChoice choice(pool_);
  const int k = model.centres.quantile(rng_.uniform(), pool_.size());
  while (particle_.k() < k) {
    particle_.set.push_back(choice.draw_outside(particle_.set, rng_));
  }
  start_spreads(particle_, model, k, rng_);
  particle_.noise = model.noise.draw(rng_);
  particle_.coef = model.coef.draw(rng_);
  particle_.df = model.draw_df(rng_);
  if (particle_.own.any()) particle_.own.fill(pool_, particle_.set);
  if (model.latent()) particle_.latent.assign(x_.rows(), 1);
  sum_up(particle_, model, pool_);
  if (!model.latent()) return;
  draw_latent(particle_, model, pool_,
              std::vector<double>(k + model.fixed(), 0.0), rng_);
}

bool Chain::is_valid() const {
  return particle_.factor.ok() &&
         residual_is_valid(particle_, config_.model, pool_);
}

void Chain::advance(int n) {
  const Stopwatch watch;
  for (int i = 0; i < n && time_ < total(); ++i) iterate();
  seconds_ += watch.seconds();
}

void Chain::iterate() {
  move_set(particle_, config_, pool_, config_.n_moves, rng_, scratch_);
  const VariancePrior& prior = config_.model.coef;
  const bool informed = prior.shape > 0 || particle_.factor.size() > 0;
  if (!prior.fixed && informed) move_coef();
  if (config_.model.learns_scales()) move_scales();
  const double noise = particle_.noise, coef = particle_.coef;
  gibbs_draw(particle_, config_.model, pool_, rng_, scratch_.a);
  ++time_;
  const int after = time_ - settings_.warmup;
  if (after > 0 && after % settings_.thin == 0) record(noise, coef);
  if (after == 0) particle_.moves = MoveCounts();
  const std::vector<double> latent = particle_.latent;
  const std::vector<double> spreads = particle_.own.spreads();
  const double df = particle_.df;
  draw_spreads(particle_, config_.model, pool_, rng_, scratch_.a);
  // The bits of a chain that is restored here.
  if (particle_.own.any()) restore_sums(particle_, pool_);
  if (config_.model.latent()) {
    draw_latent(particle_, config_.model, pool_, scratch_.a, rng_);
  }
  refactor(particle_, config_.model);
  if (is_valid()) return;
  // A psi beyond double precision is rejected, with the spreads and the latent
  // variables drawn given it: the target is cut off there.
  particle_.noise = noise;
  particle_.coef = coef;
  particle_.latent = latent;
  particle_.df = df;
  const bool spread = config_.model.has_spreads();
  if (spread) {
    particle_.own.use(particle_.own.log_inverse(), spreads);
    particle_.own.fill(pool_, particle_.set);
  }
  if (spread || config_.model.latent()) {
    sum_up(particle_, config_.model, pool_);
  }
  refactor(particle_, config_.model);
  if (!is_valid()) {
    throw std::runtime_error("the state of the chain lost its precision");
  }
}

// Robbins and Monro (1951) towards the best acceptance rate of a step in one
// dimension.
void Chain::move_coef() {
  constexpr double kTarget = 0.44;
  const bool accepted =
      coef_move(particle_, config_.model, pool_, std::exp(log_step_), rng_);
  if (time_ >= settings_.warmup) return;
  log_step_ += (accepted - kTarget) / std::sqrt(time_ + 1.0);
}

// Each inverse bandwidth by itself, and all by the same factor.
void Chain::move_scales() {
  const int p = static_cast<int>(x_.cols());
  log_scale_steps_.resize(p + 1, 0);
  Eigen::VectorXd by = Eigen::VectorXd::Zero(p);
  for (int l = 0; l < p; ++l) {
    by[l] = 1;
    step_scales(by, l);
    by[l] = 0;
  }
  step_scales(Eigen::VectorXd::Ones(p), p);
}

void Chain::step_scales(const Eigen::VectorXd& by, int which) {
  constexpr double kTarget = 0.44;
  double& log_step = log_scale_steps_[which];
  const Eigen::VectorXd to =
      particle_.own.log_inverse() + std::exp(log_step) * rng_.normal() * by;
  const bool accepted = scale_move(particle_, config_.model, pool_, to, rng_);
  if (time_ >= settings_.warmup) return;
  log_step += (accepted - kTarget) / std::sqrt(time_ + 1.0);
}

// Stores the state and the Gibbs draw, whose coefficients are in the scratch;
// (noise, coef) are those of the factor.
void Chain::record(double noise, double coef) {
  const Model& model = config_.model;
  const auto beta = scratch_.a.begin();
  const int p = particle_.factor.size();
  draws_.k.push_back(particle_.k());
  draws_.sets.insert(draws_.sets.end(), particle_.set.begin(),
                     particle_.set.end());
  draws_.noise.push_back(noise);
  draws_.coef.push_back(coef);
  particle_.factor.save(draws_.factor, draws_.z);
  draws_.beta.insert(draws_.beta.end(), beta, beta + p);
  to_kernels(particle_, model, draws_.beta.data() + draws_.beta.size() - p);
  if (model.fixed_columns.intercept) draws_.beta.end()[-p] += model.shift;
  const Eigen::VectorXd& scales = particle_.own.log_inverse();
  draws_.log_inverse.insert(draws_.log_inverse.end(), scales.begin(),
                            scales.end());
  if (model.has_spreads()) {
    const std::vector<double>& spreads = particle_.own.spreads();
    draws_.spread.insert(draws_.spread.end(), spreads.begin(), spreads.end());
  }
  draws_.drawn_noise.push_back(particle_.noise);
  draws_.drawn_coef.push_back(particle_.coef *
                              (model.scaled ? particle_.noise : 1));
  draws_.df.push_back(particle_.df);
  if (!model.latent()) return;
  draws_.log_likelihood.push_back(
      log_likelihood(particle_, model, pool_, scratch_.a));
}

void ChainDraws::transfer(Archive& archive, const Model& model) {
  std::vector<int> from_one = sets;
  for (int& candidate : from_one) ++candidate;
  archive("k", k);
  archive("sets", from_one);
  sets = std::move(from_one);
  for (int& candidate : sets) --candidate;
  archive("noise", noise);
  archive("coef", coef);
  archive("factor", factor);
  archive("z", z);
  if (model.learns_scales()) archive("log_inverse", log_inverse);
  if (model.has_spreads()) archive("spread", spread);
  if (model.learns_df()) archive("df", df);
  archive.within("draws", [&](Archive& drawn) {
    drawn("beta", beta);
    drawn("noise", drawn_noise);
    drawn("coef", drawn_coef);
    if (model.latent()) drawn("log_lik", log_likelihood);
  });
}

// Weights are positive.
void Chain::transfer_latent(Archive& archive,
                            std::vector<double>& latent) const {
  const Model& model = config_.model;
  if (!model.latent()) return;
  const bool weights = model.response == Response::kStudent;
  archive("latent", latent,
          weights ? Want::positive(x_.rows()) : Want::of(x_.rows()));
}

void Chain::transfer(Archive& archive) {
  archive("time", time_, Want::between(0, total()));
  draws_.transfer(archive, config_.model);
  std::vector<Particle> current{particle_};
  archive.within("current", [&](Archive& list) {
    srvm::transfer(list, current, config_.model.fixed());
    transfer_scales(list, current, config_.model, x_.cols());
    transfer_spreads(list, current, config_.model);
    transfer_df(list, current, config_.model);
    list.require(current.size() == 1, "k", "for one particle");
    transfer_latent(list, current[0].latent);
  });
  transfer_moves(archive, current[0].moves);
  archive("rng", rng_);
  archive("log_step", log_step_);
  archive("log_scale_steps", log_scale_steps_);
  double seconds = seconds_;
  archive("seconds", seconds, Want::between(0, 1e300));
  if (!archive.reading()) {
    std::vector<int> rows = candidate_rows(pool_);
    archive("candidate_rows", rows);
    return;
  }
  particle_ = std::move(current[0]);
  pool_.require_known(particle_.set);
  if (particle_.k() > config_.model.centres.limit(pool_.size())) {
    throw DamagedState("a set has too many centres");
  }
  if (particle_.own.any()) particle_.own.fill(pool_, particle_.set);
  sum_up(particle_, config_.model, pool_);
  seconds_ += seconds;
}

}  // namespace kernelbayes::srvm
