// The evidence ladder of bark for R: see core/bark/ladder.hpp.
#include <RcppEigen.h>

#include <memory>

#include "core/bark/ladder.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/words.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

bark::LadderSettings ladder_settings(const Rcpp::List& config) {
  bark::LadderSettings out;
  out.warmup = config["warmup"];
  out.iterations = config["iter"];
  out.rungs = get<double>(config, "rungs");
  out.seed = run_seed(config, "chain");
  return out;
}

bark::Ladder& ladder_of(SEXP pointer) {
  return *Rcpp::XPtr<bark::Ladder>(pointer).checked_get();
}

bark::Ladder::Saved ladder_from_r(const Rcpp::List& list) {
  bark::Ladder::Saved out;
  out.time = list["time"];
  out.states = bark_r::states_from_r(list["states"]);
  out.steps = bark_r::steps_from_r(list["steps"]);
  out.rng = words_from_r(get<double>(list, "rng"));
  out.swapped = get<double>(list, "swapped");
  out.log_ratio = get<double>(list, "log_ratio");
  out.seconds = list["seconds"];
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP bark_ladder_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                          const Eigen::VectorXd& y,
                          const Eigen::VectorXd& weights,
                          Rcpp::Nullable<Rcpp::List> state) {
  auto ladder = std::make_unique<bark::Ladder>(
      bark_r::prior(config["prior"]), ladder_settings(config),
      bark_r::data(config, x, y, weights));
  if (state.isNotNull()) {
    ladder->restore(ladder_from_r(Rcpp::List(state.get())));
  }
  return Rcpp::XPtr<bark::Ladder>(ladder.release());
}

// [[Rcpp::export(rng = false)]]
int bark_ladder_advance_cpp(SEXP handle, int n) {
  bark::Ladder& ladder = ladder_of(handle);
  ladder.advance(n);
  return ladder.time();
}

// [[Rcpp::export(rng = false)]]
void bark_ladder_close_cpp(SEXP handle) {
  Rcpp::XPtr<bark::Ladder>(handle).release();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_ladder_snapshot_cpp(SEXP handle) {
  const bark::Ladder::Saved saved = ladder_of(handle).save();
  return Rcpp::List::create(
      _["time"] = saved.time,
      _["states"] = bark_r::states_to_r(saved.states),
      _["steps"] = bark_r::steps_to_r(saved.steps),
      _["rng"] = words_to_r(saved.rng), _["swapped"] = saved.swapped,
      _["log_ratio"] = saved.log_ratio, _["seconds"] = saved.seconds);
}
