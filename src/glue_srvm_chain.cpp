#include <RcppEigen.h>

#include <memory>

#include "core/srvm/chain.hpp"
#include "glue/archive.hpp"
#include "glue/executor.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace {

using namespace kernelbayes;

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

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP srvm_chain_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                         const Eigen::MatrixXd& y,
                         Rcpp::Nullable<Rcpp::List> state) {
  srvm::Config from = chain_config(config);
  srvm_r::check_columns(from.model, x.cols());
  return open_machine(std::make_unique<srvm::Chain>(
                          std::move(from), chain_settings(config), x, y,
                          make_executor(count_from_r(config, "threads", 1))),
                      state);
}
