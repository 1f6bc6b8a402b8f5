#include <RcppEigen.h>

#include <memory>

#include "core/srvm/chain.hpp"
#include "core/srvm/filter.hpp"
#include "glue/archive.hpp"
#include "glue/executor.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace {

using namespace kernelbayes;
using srvm::CandidatePool;

std::unique_ptr<srvm::Filter> filter(const Rcpp::List& config,
                                     const Eigen::MatrixXd& x,
                                     const Eigen::MatrixXd& y) {
  srvm::Config from = srvm_r::config(config);
  srvm_r::check_columns(from.model, x.cols());
  return std::make_unique<srvm::Filter>(
      std::move(from), x, y, make_executor(count_from_r(config, "threads", 1)));
}

srvm::Config chain_config(const Rcpp::List& list) {
  srvm::Config out;
  out.model = srvm_r::model(list);
  out.n_moves = count_from_r(list, "n_moves");
  out.move_fraction = list["move_fraction"];
  return out;
}

srvm::ChainSettings chain_settings(const Rcpp::List& list) {
  srvm::ChainSettings out;
  out.warmup = count_from_r(list, "warmup");
  out.iterations = count_from_r(list, "iter", 1, kMostCount - out.warmup);
  out.thin = count_from_r(list, "thin", 1);
  out.seed = run_seed(list, "chain");
  return out;
}

std::unique_ptr<srvm::Chain> chain(const Rcpp::List& config,
                                   const Eigen::MatrixXd& x,
                                   const Eigen::MatrixXd& y) {
  srvm::Config from = chain_config(config);
  srvm_r::check_columns(from.model, x.cols());
  return std::make_unique<srvm::Chain>(
      std::move(from), chain_settings(config), x, y,
      make_executor(count_from_r(config, "threads", 1)));
}

}  // namespace

// A chain if there is a warmup, otherwise a filter. `pool`: NULL, or that of
// exactly this state.
// [[Rcpp::export(rng = false)]]
SEXP srvm_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                   const Eigen::MatrixXd& y, Rcpp::Nullable<Rcpp::List> state,
                   SEXP pool = R_NilValue) {
  if (config.containsElementNamed("warmup")) {
    return open_machine(chain(config, x, y), state);
  }
  auto machine = filter(config, x, y);
  if (!Rf_isNull(pool)) {
    machine->know(Rcpp::XPtr<CandidatePool>(pool).checked_get());
  }
  return open_machine(std::move(machine), state);
}

// The pool of a run: its "bytes", a "copy", or at the end of the run the pool
// itself ("take").
// [[Rcpp::export(rng = false)]]
SEXP srvm_pool_cpp(SEXP handle, const std::string& what) {
  auto& run = dynamic_cast<srvm::Filter&>(machine_of(handle));
  if (what == "bytes") return Rcpp::wrap(run.pool().bytes());
  return Rcpp::XPtr<CandidatePool>(
      new CandidatePool(what == "take" ? run.release_pool() : run.pool()));
}

// [[Rcpp::export(rng = false)]]
void srvm_free_pool_cpp(SEXP pool) {
  Rcpp::XPtr<CandidatePool>(pool).release();
}

// The state with as many particles as in `config`, moved again.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_rejuvenate_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                               const Eigen::MatrixXd& y, Rcpp::List state) {
  const int wanted = count_from_r(config, "particles", 1);
  Rcpp::List before = Rcpp::clone(config);
  before["particles"] = get<int>(state, "k").size();
  auto run = filter(before, x, y);
  read_state(state, [&](Archive& archive) { run->transfer(archive); });
  run->rejuvenate(wanted);
  ListWriter writer;
  run->transfer(writer);
  return writer.written();
}
