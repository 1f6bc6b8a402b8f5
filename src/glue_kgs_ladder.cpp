#include <RcppEigen.h>

#include <memory>

#include "core/kgs/ladder.hpp"
#include "glue/kgs_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/machine.hpp"
#include "glue/words.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

kgs::LadderSettings ladder_settings(const Rcpp::List& config) {
  kgs::LadderSettings out;
  out.method = kgs_r::method(config["method"]);
  out.warmup = config["warmup"];
  out.iterations = config["iter"];
  out.beta = get<double>(config, "beta");
  out.seed = run_seed(config, "chain");
  return out;
}

kgs::Ladder::Saved ladder_from_r(const Rcpp::List& list) {
  kgs::Ladder::Saved out;
  out.time = list["time"];
  const Rcpp::List levels = list["levels"];
  for (const Rcpp::List level : levels) {
    out.levels.push_back({Rcpp::as<Eigen::VectorXd>(level["g"]),
                          Rcpp::as<Eigen::VectorXd>(level["f"]),
                          Rcpp::as<Eigen::VectorXd>(level["sides"]),
                          kgs_r::lines_from_r(level["lines"])});
  }
  out.rng = words_from_r(get<double>(list, "rng"));
  out.errors = get<int>(list, "errors");
  out.swapped = get<double>(list, "swapped");
  out.seconds = list["seconds"];
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP kgs_ladder_open_cpp(Rcpp::List config, Rcpp::List data,
                         Rcpp::Nullable<Rcpp::List> state) {
  auto ladder =
      std::make_unique<kgs::Ladder>(kgs_r::data(data), ladder_settings(config));
  return open_machine(std::move(ladder), state, ladder_from_r);
}

// [[Rcpp::export(rng = false)]]
int kgs_ladder_advance_cpp(SEXP handle, int n) {
  return advance_machine<kgs::Ladder>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void kgs_ladder_close_cpp(SEXP handle) { close_machine<kgs::Ladder>(handle); }

// [[Rcpp::export(rng = false)]]
Rcpp::List kgs_ladder_snapshot_cpp(SEXP handle) {
  const kgs::Ladder::Saved saved = machine_of<kgs::Ladder>(handle).save();
  Rcpp::List levels;
  for (const auto& level : saved.levels) {
    levels.push_back(Rcpp::List::create(
        _["g"] = level.g, _["f"] = level.f, _["sides"] = level.sides,
        _["lines"] = kgs_r::lines_to_r(level.lines)));
  }
  return Rcpp::List::create(
      _["time"] = saved.time, _["levels"] = levels,
      _["rng"] = words_to_r(saved.rng), _["errors"] = saved.errors,
      _["swapped"] = saved.swapped, _["seconds"] = saved.seconds);
}
