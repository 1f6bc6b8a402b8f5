#include <RcppEigen.h>

#include <memory>

#include "core/srvm/moments.hpp"
#include "glue/executor.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"
#include "kernelbayes/mixture.hpp"

namespace {

using namespace kernelbayes;

// A run in progress. It lives as long as one R call: fits hold its state.
struct Handle {
  Handle(const Rcpp::List& list, const Eigen::MatrixXd& x,
         const Eigen::VectorXd& y)
      : config(srvm_r::config(list)),
        executor(make_executor(list["threads"])),
        filter(config, x, y) {}

  srvm::Config config;
  Executor executor;
  srvm::Filter filter;
};

Handle& handle_of(SEXP pointer) {
  return *Rcpp::XPtr<Handle>(pointer).checked_get();
}

// Null for R's NULL.
const srvm::CandidatePool* pool_of(SEXP pointer) {
  if (Rf_isNull(pointer)) return nullptr;
  return Rcpp::XPtr<srvm::CandidatePool>(pointer).checked_get();
}

// One Gibbs draw of coefficients and variances for each particle; `coef` is the
// variance of the coefficients in the scaled form too.
Rcpp::List draws(const Handle& run) {
  const srvm::Filter& filter = run.filter;
  const bool scaled = run.config.model.scaled;
  const auto& particles = filter.smc().particles();
  std::vector<double> beta, all, noise, coef;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    srvm::Particle copy = particles[i];
    Rng rng = filter.smc().output_stream(static_cast<int>(i));
    filter.target().draw(copy, rng, beta);
    all.insert(all.end(), beta.begin(), beta.end());
    noise.push_back(copy.noise);
    coef.push_back(copy.coef * (scaled ? copy.noise : 1));
  }
  return Rcpp::List::create(Rcpp::_["beta"] = all, Rcpp::_["noise"] = noise,
                            Rcpp::_["coef"] = coef);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP srvm_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                   const Eigen::VectorXd& y, Rcpp::Nullable<Rcpp::List> state,
                   SEXP pool = R_NilValue) {
  auto handle = std::make_unique<Handle>(config, x, y);
  if (state.isNotNull()) {
    srvm_r::restore(handle->filter, Rcpp::List(state.get()),
                    handle->config.model.intercept, pool_of(pool),
                    handle->executor);
  }
  return Rcpp::XPtr<Handle>(handle.release());
}

// [[Rcpp::export(rng = false)]]
int srvm_advance_cpp(SEXP handle, int n) {
  Handle& run = handle_of(handle);
  run.filter.advance(n, run.executor);
  return run.filter.time();
}

// Frees the memory now: R's collector does not see how much there is.
// [[Rcpp::export(rng = false)]]
void srvm_close_cpp(SEXP handle) { Rcpp::XPtr<Handle>(handle).release(); }

// The pool of a run: a copy, or at its end the pool itself.
// [[Rcpp::export(rng = false)]]
SEXP srvm_pool_cpp(SEXP handle, bool at_end) {
  Handle& run = handle_of(handle);
  auto pool =
      at_end
          ? std::make_unique<srvm::CandidatePool>(run.filter.release_pool())
          : std::make_unique<srvm::CandidatePool>(run.filter.target().pool());
  return Rcpp::XPtr<srvm::CandidatePool>(pool.release());
}

// [[Rcpp::export(rng = false)]]
double srvm_pool_bytes_cpp(SEXP handle) {
  return handle_of(handle).filter.target().pool().bytes();
}

// [[Rcpp::export(rng = false)]]
void srvm_free_pool_cpp(SEXP pool) {
  Rcpp::XPtr<srvm::CandidatePool>(pool).release();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_snapshot_cpp(SEXP handle) {
  return srvm_r::state_to_r(handle_of(handle).filter);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_draws_cpp(SEXP handle) { return draws(handle_of(handle)); }

// The state with as many particles as `config` has, moved afresh, and their
// draws.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_rejuvenate_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                               const Eigen::VectorXd& y, Rcpp::List state) {
  const int wanted = config["particles"];
  Rcpp::List before = Rcpp::clone(config);
  before["particles"] = get<int>(state, "k").size();
  Handle run(before, x, y);
  srvm_r::restore(run.filter, state, run.config.model.intercept, nullptr,
                  run.executor);
  run.filter.rejuvenate(wanted, run.executor);
  Rcpp::List out = srvm_r::state_to_r(run.filter);
  out["draws"] = draws(run);
  return out;
}

// Posterior means and variances of f, n points x N particles. `values` is
// n x U; `column[j]` (from 1) its column for candidate j, or 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_moments_cpp(Rcpp::List state, bool intercept, double shift,
                            const Eigen::MatrixXd& values,
                            std::vector<int> column) {
  const auto particles = srvm_r::particles_from_r(state, intercept);
  srvm::Model model;
  model.intercept = intercept;
  model.shift = shift;
  for (int& c : column) --c;
  Eigen::MatrixXd mean(values.rows(), particles.size());
  Eigen::MatrixXd variance(values.rows(), particles.size());
  for (std::size_t i = 0; i < particles.size(); ++i) {
    srvm::posterior_moments(particles[i], model, values, column, mean.col(i),
                            variance.col(i));
  }
  return Rcpp::List::create(Rcpp::_["mean"] = mean,
                            Rcpp::_["variance"] = variance);
}

// Mean coefficients of each particle, concatenated in the order of `sets`
// with the intercept first.
// [[Rcpp::export(rng = false)]]
std::vector<double> srvm_coefficients_cpp(Rcpp::List state, bool intercept,
                                          double shift) {
  std::vector<double> out;
  for (const auto& particle : srvm_r::particles_from_r(state, intercept)) {
    std::vector<double> mean = particle.factor.z();
    particle.factor.solve_upper(mean.data());
    if (intercept) mean[0] += shift;
    out.insert(out.end(), mean.begin(), mean.end());
  }
  return out;
}

// Sums of `start` and the values so far, one after the other: those of a part
// go on from its start to the same bits.
// [[Rcpp::export(rng = false)]]
std::vector<double> running_sums_cpp(std::vector<double> values, double start) {
  for (double& value : values) start = value += start;
  return values;
}
