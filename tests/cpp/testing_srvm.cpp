// Internal entries through which tests reach the core of srvm.
#include <RcppEigen.h>

#include "core/srvm/adapted.hpp"
#include "core/srvm/birth_death.hpp"
#include "core/srvm/drop.hpp"
#include "core/srvm/likelihood.hpp"
#include "core/srvm/psi_moves.hpp"
#include "factor_report.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace {

using namespace testing_r;

// A particle with a set (candidates from 0) and variances, at the last row. If
// that counts with a power only, it is not in the set.
struct Scene {
  Scene(const Rcpp::List& list, const Eigen::MatrixXd& x,
        const Eigen::VectorXd& y, const Rcpp::List& state)
      : pool(srvm_r::kernels(list["kernel"]), srvm_r::model(list).fixed_columns,
             true),
        scratch(x.rows() + 3) {
    config.model = srvm_r::model(list);
    config.move_fraction = list["move_fraction"];
    const Eigen::VectorXd shifted = y.array() - config.model.shift;
    const Executor serial = serial_executor();
    const bool raised = list.containsElementNamed("power");
    const int last = static_cast<int>(y.size()) - 1;
    for (int t = 0; t < last + !raised; ++t) {
      pool.add_row(x, t, shifted[t], serial);
    }
    pool.set_power(1);
    particle.set = get<int>(state, "set");
    particle.noise = state["noise"];
    particle.coef = state["coef"];
    pool.restore_sums(particle.set, particle.gram, particle.rhs);
    srvm::refactor(particle, config.model);
    if (raised) add_raised(x, last, shifted[last], list["power"]);
  }

  void add_raised(const Eigen::MatrixXd& x, int row, double y, double power) {
    pool.candidates_by_degrees(true);
    pool.add_row(x, row, y, serial_executor());
    pool.set_power(power);
    srvm::latest_design(particle, config.model, pool, scratch.a);
    srvm::assimilate(particle, config.model, scratch, scratch.a, y,
                     std::sqrt(power));
  }

  srvm::Config config;
  srvm::CandidatePool pool;
  srvm::Particle particle;
  srvm::Scratch scratch;
};

// A particle of the rows before t, after row t has entered the pool.
struct Arrival {
  Arrival(const Rcpp::List& list, const Eigen::MatrixXd& x,
          const Eigen::VectorXd& y, int t, const std::vector<int>& previous,
          double noise, double coef)
      : config(srvm_r::config(list)),
        pool(config.model.kernels, config.model.fixed_columns,
             config.any_candidate()),
        y(y[t - 1] - config.model.shift),
        scratch(t * pool.kernels() + 3) {
    const srvm::Model& model = config.model;
    const Executor serial = serial_executor();
    const Eigen::VectorXd before = y.head(t - 1).array() - model.shift;
    pool.rebuild(x, srvm::data_of(before, 0), t - 1,
                 std::vector<char>(t * pool.kernels(), 1), serial);
    for (const int j : previous) particle.set.push_back(j - 1);
    particle.noise = noise;
    particle.coef = coef;
    pool.restore_sums(particle.set, particle.gram, particle.rhs);
    srvm::refactor(particle, model);
    pool.add_row(x, t - 1, this->y, serial);
    prior = srvm::PriorStep(model.centres, pool.size());
  }

  srvm::Config config;
  srvm::CandidatePool pool;
  double y;
  srvm::Scratch scratch;
  srvm::Particle particle;
  srvm::PriorStep prior;
};

// A particle of the rows before t in a pool of bounded memory: its sums are
// computed row by row. `previous` are rows of x (plus h n for those of n with
// kernel h, from 0); `z` are latent responses by place.
struct Stream {
  Stream(const Rcpp::List& list, const Eigen::MatrixXd& x,
         const Eigen::VectorXd& y, int t, const std::vector<int>& previous,
         double noise, double coef, const std::vector<double>& z)
      : config(srvm_r::config(list)),
        pool(config.model.kernels, config.model.fixed_columns,
             config.any_candidate(), config.memory),
        y(y.array() - config.model.shift),
        scratch(t * pool.kernels() + 3) {
    for (int s = 0; s + 1 < t; ++s) {
      pool.drop_rows(x, serial);
      pool.forget_leaving();
      pool.add_row(x, s, this->y[s], serial);
      pool.set_power(1);
    }
    particle.noise = noise;
    particle.coef = coef;
    particle.latent = z;
    for (const double value : z) particle.squares += value * value;
    std::vector<char> used(pool.numbers(), 0);
    rows_of_x = static_cast<int>(x.rows());
    for (const int code : previous) {
      const int row = (code - 1) % rows_of_x, h = (code - 1) / rows_of_x;
      for (int j = 0; j < pool.numbers(); ++j) {
        const int known = pool.row_of(j);
        if (known < 0 || x.row(known) != x.row(row)) continue;
        if (pool.kernel_of(j) != h) continue;
        particle.set.push_back(j);
        used[j] = 1;
      }
    }
    sum();
    srvm::refactor(particle, config.model);
    if (!config.any_candidate()) pool.release_unused(used);
  }

  // Data leave; returns the log weight.
  double drop_row(const Eigen::MatrixXd& x) {
    const bool any = pool.drop_rows(x, serial);
    const auto steps = srvm::steps_down(config.model.centres, pool);
    const double log_weight =
        any ? srvm::drop(particle, config, pool, steps, scratch) : 0;
    pool.forget_leaving();
    return log_weight;
  }

  // Computes gram and rhs of the set over the rows that count.
  void sum() {
    const srvm::RowWeights weights(config.memory);
    const int m = config.model.fixed();
    const int p = particle.k() + m, n = pool.places();
    const auto& own = particle.latent;
    particle.gram.resize(p);
    particle.rhs.assign(p, 0.0);
    const auto value = [&](int i, int s) {
      if (i < m) return pool.fixed_value(s, i);
      return pool.column(particle.set[i - m])[s];
    };
    for (int j = 0; j < p; ++j) {
      for (int i = j; i < p; ++i) particle.gram(i, j) = 0;
    }
    for (int row = pool.time() - n; row < pool.time(); ++row) {
      const int s =
          config.memory.horizon() > 0 ? row % config.memory.horizon() : row;
      const double w = weights(pool.time() - 1 - row);
      const double response = own.empty() ? pool.responses()[s] : own[s];
      for (int j = 0; j < p; ++j) {
        for (int i = j; i < p; ++i) {
          particle.gram(i, j) += w * value(i, s) * value(j, s);
        }
        particle.rhs[j] += w * value(j, s) * response;
      }
    }
  }

  // Distance of the factor and its right-hand side from the sums.
  double drift() const {
    srvm::Particle fresh = particle;
    srvm::refactor(fresh, config.model);
    double worst = 0;
    for (int j = 0; j < particle.factor.size(); ++j) {
      worst =
          std::max(worst, std::abs(fresh.factor.z(j) - particle.factor.z(j)));
      for (int i = j; i < particle.factor.size(); ++i) {
        worst = std::max(worst,
                         std::abs(fresh.factor(i, j) - particle.factor(i, j)));
      }
    }
    return worst;
  }

  std::vector<int> rows() const {
    std::vector<int> out;
    for (const int j : particle.set) out.push_back(code(j));
    return out;
  }

  int code(int j) const {
    return pool.row_of(j) + 1 + pool.kernel_of(j) * rows_of_x;
  }

  int rows_of_x = 0;

  Executor serial = serial_executor();
  srvm::Config config;
  srvm::CandidatePool pool;
  Eigen::VectorXd y;
  srvm::Scratch scratch;
  srvm::Particle particle;
};

// All steps of the birth/death proposal that have positive probability.
std::vector<srvm::BirthDeathStep> all_steps(const Arrival& a) {
  using Kind = srvm::BirthDeathStep::Kind;
  const int k = a.particle.k(), m = a.pool.size();
  const auto& set = a.particle.set;
  std::vector<srvm::BirthDeathStep> steps{{Kind::kZero, 0}}, out;
  for (int j = 0; j < m; ++j) {
    const bool free = std::find(set.begin(), set.end(), j) == set.end();
    if (free) steps.push_back({Kind::kBirth, j});
  }
  for (int i = 0; i < k; ++i) steps.push_back({Kind::kDeath, i});
  for (const auto& step : steps) {
    if (srvm::step_probability(a.config, k, m, step) > 0) out.push_back(step);
  }
  return out;
}

}  // namespace

// Results of the moves at one state for place i of its k centres (k: none) and
// candidate j (-1: none): log likelihood ratios of birth, death and swap, log
// odds of a birth into the set and of the birth that a death undoes.
// [[Rcpp::export(rng = false)]]
std::vector<double> srvm_ratios_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                                    const Eigen::VectorXd& y, Rcpp::List state,
                                    int i, int j) {
  using namespace srvm;
  Scene s(config, x, y, state);
  const int k = s.particle.k(), m = s.pool.size();
  const int fixed = s.config.model.fixed();
  const std::vector<double>& h = s.scratch.b;
  std::vector<double>& w = s.scratch.c;
  const Likelihood likelihood(
      s.particle, s.config.model, s.pool.rows(),
      squared_responses(s.particle, s.config.model, s.pool));
  Birth birth{};
  Death death{};
  double swap = 0;
  if (j >= 0) {
    birth =
        propose_birth(s.particle, s.config, s.pool, likelihood, j, s.scratch);
  }
  if (i < k) death = score_death(s.particle, likelihood, i, fixed, w);
  if (j >= 0 && i < k) {
    swap = log_swap_ratio(birth, death, likelihood, k + fixed, h, w);
  }
  // With equally probable candidates.
  const double into =
      log_prior_odds(s.config, k, m) + std::log((m - k) / (k + 1.0));
  const double undone =
      log_prior_odds(s.config, k - 1, m) + std::log((m - k + 1.0) / k);
  return {birth.log_ratio, death.log_ratio, swap, into, undone};
}

// `moves` random moves, repeatedly from the same state: the sets reached, each
// as the sum of 2^candidate, and the particle at the end of the last run.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_moves_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                          const Eigen::VectorXd& y, Rcpp::List state,
                          const std::vector<std::string>& from, int moves,
                          int repetitions) {
  Scene s(config, x, y, state);
  const srvm::Particle start = s.particle;
  Rng rng = stream_from_r(from);
  std::vector<double> sets(repetitions, 0.0);
  for (double& set : sets) {
    s.particle = start;
    srvm::move_set(s.particle, s.config, s.pool, moves, rng, s.scratch);
    for (const int j : s.particle.set) set += std::ldexp(1.0, j);
  }
  Rcpp::List out = report(s.particle.factor);
  const auto& [tried, accepted] = s.particle.moves;
  out["set"] = s.particle.set;
  out["gram"] = dense(s.particle.gram);
  out["rhs"] = s.particle.rhs;
  out["tried"] = std::vector<int>(tried, tried + 3);
  out["accepted"] = std::vector<int>(accepted, accepted + 3);
  out["sets"] = sets;
  return out;
}

// n pairs of variances, the noise's first: each after moves of the one and of
// the other by turns from the same state.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd srvm_variance_moves_cpp(
    Rcpp::List config, const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
    Rcpp::List state, const std::vector<std::string>& from, int moves, int n) {
  Scene s(config, x, y, state);
  const srvm::Particle start = s.particle;
  Rng rng = stream_from_r(from);
  Eigen::MatrixXd out(2, n);
  for (int i = 0; i < n; ++i) {
    s.particle = start;
    for (int move = 0; move < moves; ++move) {
      srvm::coef_move(s.particle, s.config.model, s.pool, 1, rng);
      srvm::noise_move(s.particle, s.config.model, s.pool, 1, rng);
    }
    out(0, i) = s.particle.noise;
    out(1, i) = s.particle.coef;
  }
  return out;
}

// n draws, one column each: of the coefficients (the intercept minus the shift)
// given the variances of `state`, and of the two variances given them.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd srvm_gibbs_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                               const Eigen::VectorXd& y, Rcpp::List state,
                               const std::vector<std::string>& from, int n) {
  Scene s(config, x, y, state);
  Rng rng = stream_from_r(from);
  const int p = s.particle.factor.size();
  std::vector<double> draw(p + 2);
  Eigen::MatrixXd out(p + 2, n);
  const double noise = s.particle.noise, coef = s.particle.coef;
  for (int i = 0; i < n; ++i) {  // the factor does not change
    s.particle.noise = noise;
    s.particle.coef = coef;
    srvm::gibbs_draw(s.particle, s.config.model, s.pool, rng, draw);
    draw[p] = s.particle.noise;
    draw[p + 1] = s.particle.coef;
    std::copy(draw.begin(), draw.end(), out.col(i).data());
  }
  return out;
}

// n draws of the noise at a fixed ratio from `state`: both variances, and the
// largest difference between the factor, with its right-hand side, and one of
// the new variances.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd srvm_noise_draw_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                                    const Eigen::VectorXd& y, Rcpp::List state,
                                    const std::vector<std::string>& from,
                                    int n) {
  const Scene s(config, x, y, state);
  Rng rng = stream_from_r(from);
  Eigen::MatrixXd out(3, n);
  for (int i = 0; i < n; ++i) {
    srvm::Particle particle = s.particle;
    srvm::noise_draw(particle, s.config.model, s.pool, rng);
    srvm::Particle anew = particle;
    srvm::refactor(anew, s.config.model);
    double error = 0;
    for (int j = 0; j < particle.factor.size(); ++j) {
      error =
          std::max(error, std::abs(particle.factor.z(j) - anew.factor.z(j)));
      for (int l = 0; l <= j; ++l) {
        error = std::max(error,
                         std::abs(particle.factor(j, l) - anew.factor(j, l)));
      }
    }
    out.col(i) << particle.noise, particle.coef, error;
  }
  return out;
}

// The adapted proposal at row t from the set `previous` (candidates).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector srvm_adapted_cpp(Rcpp::List config,
                                     const Eigen::MatrixXd& x,
                                     const Eigen::VectorXd& y, int t,
                                     std::vector<int> previous, double noise,
                                     double coef) {
  Arrival a(config, x, y, t, previous, noise, coef);
  srvm::Arrival row;
  srvm::score_adapted(a.particle, a.config.model, a.pool, {a.prior}, a.scratch,
                      row);
  return Rcpp::NumericVector::create(
      _["join_probability"] = std::exp(row.log_joins(1) - row.log_both(1)),
      _["log_weight"] = row.log_weight(1));
}

// The whole step to row t, repeatedly from the set `previous`: the set and the
// weight of each repetition, and the worst error of a factor.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_extend_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                           const Eigen::VectorXd& y, int t,
                           std::vector<int> previous, double noise, double coef,
                           const std::vector<std::string>& from,
                           int repetitions) {
  Arrival a(config, x, y, t, previous, noise, coef);
  const srvm::Model& model = a.config.model;
  const auto steps = srvm::arrival_steps(model.centres, a.pool);
  const srvm::Particle start = a.particle;
  const double gain = model.scaled ? 1 : 1 / noise;
  Rng rng = stream_from_r(from);
  Rcpp::List sets;
  std::vector<double> log_weight;
  double drift = 0;
  srvm::Arrival row;
  srvm::score_adapted(a.particle, model, a.pool, steps, a.scratch, row);
  a.pool.set_power(1);
  for (int r = 0; r < repetitions; ++r) {
    a.particle = start;
    double weight =
        srvm::extend_adapted(a.particle, model, a.pool, row, rng, a.scratch);
    weight += srvm::extend_siblings(a.particle, model, a.pool, steps, 0, rng,
                                    a.scratch);
    log_weight.push_back(weight);
    std::vector<int> set = a.particle.set;
    for (int& j : set) ++j;
    sets.push_back(set);
    drift = std::max(drift,
                     a.particle.factor.drift(a.particle.gram, gain, 1 / coef));
  }
  return Rcpp::List::create(_["set"] = sets, _["log_weight"] = log_weight,
                            _["drift"] = drift);
}

// The birth/death proposal at row t from the set `previous`: every next set
// with its probability and weight, and the worst error of an updated factor.
// With `draws` above 0, also how often each set was drawn.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_birth_death_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                                const Eigen::VectorXd& y, int t,
                                std::vector<int> previous, double noise,
                                double coef,
                                const std::vector<std::string>& from,
                                int draws) {
  Arrival a(config, x, y, t, previous, noise, coef);
  const srvm::Particle start = a.particle;
  const auto steps = all_steps(a);
  const int k = start.k(), m = a.pool.size();
  Rcpp::List sets;
  std::vector<double> log_prob, log_weight;
  double drift = 0;
  srvm::Arrival row;
  srvm::score_row(a.particle, a.config.model, a.pool, a.scratch, row);
  a.pool.set_power(1);
  Rng rng = stream_from_r(from);
  for (const auto& step : steps) {
    a.particle = start;
    log_prob.push_back(std::log(srvm::step_probability(a.config, k, m, step)));
    log_weight.push_back(srvm::take_step(a.particle, a.config, a.pool, a.prior,
                                         row, step, rng, a.scratch));
    std::vector<int> set = a.particle.set;
    for (int& j : set) ++j;
    sets.push_back(set);
    const double gain = a.config.model.scaled ? 1 : 1 / noise;
    drift = std::max(drift,
                     a.particle.factor.drift(a.particle.gram, gain, 1 / coef));
  }
  std::vector<int> count(steps.size(), 0);
  for (int r = 0; r < draws; ++r) {
    const auto drawn = srvm::draw_step(start, a.config, a.pool, rng);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      count[i] += steps[i].kind == drawn.kind && steps[i].which == drawn.which;
    }
  }
  return Rcpp::List::create(_["set"] = sets, _["log_prob"] = log_prob,
                            _["log_weight"] = log_weight, _["drift"] = drift,
                            _["count"] = count);
}

// The particle of set `previous` (rows) after data leave, before row t comes
// in: the weight, the set, its candidates, its sums, and the distance of its
// factor from them.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_drop_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                         const Eigen::VectorXd& y, int t,
                         std::vector<int> previous, double noise, double coef,
                         std::vector<double> z) {
  Stream s(config, x, y, t, previous, noise, coef, z);
  std::vector<int> before, after;
  for (int i = 0; i < s.pool.size(); ++i) {
    before.push_back(s.code(s.pool.candidate(i)));
  }
  const double log_weight = s.drop_row(x);
  for (int i = 0; i < s.pool.size(); ++i) {
    after.push_back(s.code(s.pool.candidate(i)));
  }
  return Rcpp::List::create(
      _["log_weight"] = log_weight, _["set"] = s.rows(), _["before"] = before,
      _["after"] = after, _["gram"] = dense(s.particle.gram),
      _["rhs"] = s.particle.rhs, _["squares"] = s.particle.squares,
      _["drift"] = s.drift());
}

// The step to row t of a particle with latent responses, repeatedly: its
// weight, and for each repetition whether row t joined and its latent response.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_probit_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                           const Eigen::VectorXd& y, int t,
                           std::vector<int> previous, double coef,
                           std::vector<double> z,
                           const std::vector<std::string>& from,
                           int repetitions) {
  Stream s(config, x, y, t, previous, 1, coef, z);
  s.drop_row(x);
  s.pool.add_row(x, t - 1, s.y[t - 1], s.serial);
  const srvm::PriorStep step(s.config.model.centres, s.pool.size());
  const srvm::Particle start = s.particle;
  Rng rng = stream_from_r(from);
  std::vector<double> latent, log_weight;
  std::vector<int> joined;
  double drift = 0;
  srvm::Arrival row;
  srvm::score_adapted(s.particle, s.config.model, s.pool, {step}, s.scratch,
                      row);
  s.pool.set_power(1);
  for (int r = 0; r < repetitions; ++r) {
    s.particle = start;
    log_weight.push_back(srvm::extend_adapted(s.particle, s.config.model,
                                              s.pool, row, rng, s.scratch));
    joined.push_back(s.particle.k() - start.k());
    latent.push_back(s.particle.latent[s.pool.latest_place()]);
    drift = std::max(drift, s.drift());
    const std::vector<double> rhs = s.particle.rhs;
    s.sum();
    for (std::size_t j = 0; j < rhs.size(); ++j) {
      drift = std::max(drift, std::abs(rhs[j] - s.particle.rhs[j]));
    }
  }
  return Rcpp::List::create(_["log_weight"] = log_weight, _["joined"] = joined,
                            _["latent"] = latent, _["drift"] = drift);
}
