// The evidence ladder of bark for R: see core/bark/ladder.hpp.
#include <RcppEigen.h>

#include <memory>

#include "core/bark/ladder.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/machine.hpp"
#include "glue/words.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

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
      bark_r::prior(config["prior"]), bark_r::ladder_settings(config),
      bark_r::data(config, x, y, weights));
  return open_machine(std::move(ladder), state, ladder_from_r);
}

// [[Rcpp::export(rng = false)]]
int bark_ladder_advance_cpp(SEXP handle, int n) {
  return advance_machine<bark::Ladder>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void bark_ladder_close_cpp(SEXP handle) { close_machine<bark::Ladder>(handle); }

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_ladder_snapshot_cpp(SEXP handle) {
  const bark::Ladder::Saved saved = machine_of<bark::Ladder>(handle).save();
  return Rcpp::List::create(
      _["time"] = saved.time, _["states"] = bark_r::states_to_r(saved.states),
      _["steps"] = bark_r::steps_to_r(saved.steps),
      _["rng"] = words_to_r(saved.rng), _["swapped"] = saved.swapped,
      _["log_ratio"] = saved.log_ratio, _["seconds"] = saved.seconds);
}
