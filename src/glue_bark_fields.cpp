// bark with a field for each class, for R: see core/bark/fields_chain.hpp.
#include <RcppEigen.h>

#include <memory>

#include "core/bark/fields_chain.hpp"
#include "core/bark/fields_ladder.hpp"
#include "glue/bark_fields_from_r.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/counts.hpp"
#include "glue/lists.hpp"
#include "glue/machine.hpp"
#include "glue/words.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

Rcpp::List levels_to_r(const std::vector<bark::FieldsLevel::Saved>& levels) {
  Rcpp::List out;
  for (const auto& level : levels) {
    out.push_back(
        Rcpp::List::create(_["fields"] = bark_r::states_to_r(level.states),
                           _["steps"] = bark_r::steps_to_r(level.steps)));
  }
  return out;
}

std::vector<bark::FieldsLevel::Saved> levels_from_r(const Rcpp::List& list) {
  std::vector<bark::FieldsLevel::Saved> out;
  for (const Rcpp::List level : list) {
    out.push_back({bark_r::states_from_r(level["fields"]),
                   bark_r::steps_from_r(level["steps"])});
  }
  return out;
}

Rcpp::List draws_to_r(const bark::FieldsDraws& draws) {
  Rcpp::List fields;
  for (const bark::Draws& field : draws.fields) {
    fields.push_back(Rcpp::List::create(
        _["m"] = field.m, _["location"] = field.location,
        _["copies"] = field.copies, _["included"] = field.included,
        _["log_lambda"] = field.log_lambda, _["variance"] = field.variance,
        _["beta"] = field.beta, _["factor"] = field.factor, _["z"] = field.z));
  }
  return Rcpp::List::create(_["fields"] = fields,
                            _["log_likelihood"] = draws.log_likelihood);
}

bark::FieldsDraws draws_from_r(const Rcpp::List& list) {
  bark::FieldsDraws out;
  out.log_likelihood = get<double>(list, "log_likelihood");
  for (const Rcpp::List field : Rcpp::List(list["fields"])) {
    bark::Draws draws;
    draws.m = get<int>(field, "m");
    draws.location = get<int>(field, "location");
    draws.copies = get<int>(field, "copies");
    draws.included = get<int>(field, "included");
    draws.log_lambda = get<double>(field, "log_lambda");
    draws.variance = get<double>(field, "variance");
    draws.beta = get<double>(field, "beta");
    draws.factor = get<double>(field, "factor");
    draws.z = get<double>(field, "z");
    out.fields.push_back(std::move(draws));
  }
  return out;
}

bark::FieldsChain::Saved chain_from_r(const Rcpp::List& list) {
  bark::FieldsChain::Saved out;
  out.time = list["time"];
  out.levels = levels_from_r(list["levels"]);
  out.counts = counts_from_r<bark::Counts>(list);
  out.rng = words_from_r(get<double>(list, "rng"));
  out.draws = draws_from_r(list["draws"]);
  out.seconds = list["seconds"];
  return out;
}

bark::FieldsLadder::Saved ladder_from_r(const Rcpp::List& list) {
  bark::FieldsLadder::Saved out;
  out.time = list["time"];
  out.levels = levels_from_r(list["levels"]);
  out.rng = words_from_r(get<double>(list, "rng"));
  out.swapped = get<double>(list, "swapped");
  out.log_ratio = get<double>(list, "log_ratio");
  out.seconds = list["seconds"];
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP bark_fields_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                          const std::vector<int>& labels,
                          Rcpp::Nullable<Rcpp::List> state) {
  auto chain = std::make_unique<bark::FieldsChain>(
      bark_r::prior(config["prior"]), bark_r::chain_settings(config),
      bark_r::field_data(x), bark_r::classes(labels, config["classes"]));
  return open_machine(std::move(chain), state, chain_from_r);
}

// [[Rcpp::export(rng = false)]]
int bark_fields_advance_cpp(SEXP handle, int n) {
  return advance_machine<bark::FieldsChain>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void bark_fields_close_cpp(SEXP handle) {
  close_machine<bark::FieldsChain>(handle);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fields_snapshot_cpp(SEXP handle) {
  const bark::FieldsChain::Saved saved =
      machine_of<bark::FieldsChain>(handle).save();
  const auto named = [](const auto& counts) {
    return named_counts(counts, bark::kRotate, &bark::move_name);
  };
  return Rcpp::List::create(
      _["time"] = saved.time, _["draws"] = draws_to_r(saved.draws),
      _["levels"] = levels_to_r(saved.levels),
      _["tried"] = named(saved.counts.tried),
      _["accepted"] = named(saved.counts.accepted),
      _["rng"] = words_to_r(saved.rng), _["seconds"] = saved.seconds);
}

// [[Rcpp::export(rng = false)]]
SEXP bark_fields_ladder_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                                 const std::vector<int>& labels,
                                 Rcpp::Nullable<Rcpp::List> state) {
  auto ladder = std::make_unique<bark::FieldsLadder>(
      bark_r::prior(config["prior"]), bark_r::ladder_settings(config),
      bark_r::field_data(x), bark_r::classes(labels, config["classes"]));
  return open_machine(std::move(ladder), state, ladder_from_r);
}

// [[Rcpp::export(rng = false)]]
int bark_fields_ladder_advance_cpp(SEXP handle, int n) {
  return advance_machine<bark::FieldsLadder>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void bark_fields_ladder_close_cpp(SEXP handle) {
  close_machine<bark::FieldsLadder>(handle);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fields_ladder_snapshot_cpp(SEXP handle) {
  const bark::FieldsLadder::Saved saved =
      machine_of<bark::FieldsLadder>(handle).save();
  return Rcpp::List::create(
      _["time"] = saved.time, _["levels"] = levels_to_r(saved.levels),
      _["rng"] = words_to_r(saved.rng), _["swapped"] = saved.swapped,
      _["log_ratio"] = saved.log_ratio, _["seconds"] = saved.seconds);
}
