#include <RcppEigen.h>

#include <memory>

#include "core/srvm/chain.hpp"
#include "glue/executor.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"
#include "glue/words.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

srvm::Config chain_config(const Rcpp::List& list) {
  srvm::Config out;
  out.model = srvm_r::model(list);
  out.n_moves = list["n_moves"];
  out.move_fraction = list["move_fraction"];
  return out;
}

srvm::ChainSettings chain_settings(const Rcpp::List& list) {
  srvm::ChainSettings out;
  out.warmup = list["warmup"];
  out.iterations = list["iter"];
  out.thin = list["thin"];
  out.seed = run_seed(list, "chain");
  return out;
}

srvm::Chain& chain_of(SEXP pointer) {
  return *Rcpp::XPtr<srvm::Chain>(pointer).checked_get();
}

srvm::ChainDraws draws_from_r(const Rcpp::List& list) {
  const Rcpp::List drawn = list["draws"];
  srvm::ChainDraws out;
  out.k = get<int>(list, "k");
  out.sets = get<int>(list, "sets");
  for (int& candidate : out.sets) --candidate;
  out.noise = get<double>(list, "noise");
  out.coef = get<double>(list, "coef");
  out.factor = get<double>(list, "factor");
  out.z = get<double>(list, "z");
  out.beta = get<double>(drawn, "beta");
  out.drawn_noise = get<double>(drawn, "noise");
  out.drawn_coef = get<double>(drawn, "coef");
  return out;
}

srvm::Chain::State state_from_r(const Rcpp::List& list, bool intercept) {
  const Rcpp::List current = list["current"];
  srvm::Chain::State state;
  state.time = list["time"];
  state.particle = srvm_r::particles_from_r(current, intercept).at(0);
  const auto tried = get<int>(list, "tried"),
             accepted = get<int>(list, "accepted");
  require(tried.size() == 3 && accepted.size() == 3,
          "the state counts other moves");
  std::copy_n(tried.begin(), 3, state.particle.moves.tried);
  std::copy_n(accepted.begin(), 3, state.particle.moves.accepted);
  state.rng = words_from_r(get<double>(list, "rng"));
  state.draws = draws_from_r(list);
  state.log_step = list["log_step"];
  state.seconds = list["seconds"];
  return state;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP srvm_chain_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                         const Eigen::VectorXd& y,
                         Rcpp::Nullable<Rcpp::List> state) {
  auto chain = std::make_unique<srvm::Chain>(chain_config(config),
                                             chain_settings(config), x, y,
                                             make_executor(config["threads"]));
  if (state.isNotNull()) {
    chain->restore(state_from_r(Rcpp::List(state.get()), config["intercept"]));
  }
  return Rcpp::XPtr<srvm::Chain>(chain.release());
}

// [[Rcpp::export(rng = false)]]
int srvm_chain_advance_cpp(SEXP handle, int n) {
  srvm::Chain& chain = chain_of(handle);
  chain.advance(n);
  return chain.time();
}

// [[Rcpp::export(rng = false)]]
void srvm_chain_close_cpp(SEXP handle) {
  Rcpp::XPtr<srvm::Chain>(handle).release();
}

// Kept draws in the form of the particles of a sequential state, and what the
// chain needs to go on.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_chain_snapshot_cpp(SEXP handle) {
  const srvm::Chain& chain = chain_of(handle);
  const srvm::ChainDraws& draws = chain.draws();
  std::vector<int> sets = draws.sets, rows;
  for (int& candidate : sets) ++candidate;
  for (int j = 0; j < chain.pool().size(); ++j) {
    rows.push_back(chain.pool().row_of(j) + 1);
  }
  const auto& [tried, accepted] = chain.particle().moves;
  return Rcpp::List::create(
      _["time"] = chain.time(), _["k"] = draws.k, _["sets"] = sets,
      _["noise"] = draws.noise, _["coef"] = draws.coef,
      _["factor"] = draws.factor, _["z"] = draws.z,
      _["draws"] = Rcpp::List::create(_["beta"] = draws.beta,
                                      _["noise"] = draws.drawn_noise,
                                      _["coef"] = draws.drawn_coef),
      _["candidate_rows"] = rows,
      _["current"] = srvm_r::particles_to_r({chain.particle()}),
      _["rng"] = words_to_r(chain.rng()),
      _["tried"] = std::vector<int>(tried, tried + 3),
      _["accepted"] = std::vector<int>(accepted, accepted + 3),
      _["log_step"] = chain.log_step(), _["seconds"] = chain.seconds());
}
