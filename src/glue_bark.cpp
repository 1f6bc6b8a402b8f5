#include <RcppEigen.h>

#include <memory>

#include "core/bark/chain.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/bark_shapes.hpp"
#include "glue/counts.hpp"
#include "glue/lists.hpp"
#include "glue/machine.hpp"
#include "glue/words.hpp"
#include "kernelbayes/cholesky.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

Rcpp::List saved_to_r(const bark::State::Saved& state) {
  std::vector<int> location, copies, each;
  std::vector<double> varphi;
  for (const bark::Slot& slot : state.slots) {
    location.push_back(slot.location);
    copies.push_back(slot.copies);
    each.push_back(static_cast<int>(slot.varphi.size()));
    varphi.insert(varphi.end(), slot.varphi.begin(), slot.varphi.end());
  }
  Rcpp::List out = Rcpp::List::create(
      _["location"] = location, _["copies"] = copies, _["each"] = each,
      _["varphi"] = varphi, _["log_lambda"] = state.log_lambda,
      _["included"] =
          std::vector<int>(state.included.begin(), state.included.end()),
      _["phi"] = state.phi, _["log_likelihood"] = state.log_likelihood,
      _["latent"] = state.latent, _["exponents"] = state.exponents,
      _["gram"] = state.gram, _["covariance"] = state.covariance,
      _["product"] = state.product, _["mean"] = state.mean);
  if (state.row_weights.size() > 0) out["row_weights"] = state.row_weights;
  if (!state.log_gaps.empty()) out["log_gaps"] = state.log_gaps;
  if (state.directions.size() > 0) out["directions"] = state.directions;
  bark_r::add_shapes(out, state.slots);
  return out;
}

// Where a list has it: else it is empty.
template <typename T>
void get_if_there(const Rcpp::List& list, const char* name, T& out) {
  if (list.containsElementNamed(name)) out = Rcpp::as<T>(list[name]);
}

bark::State::Saved saved_from_r(const Rcpp::List& list) {
  bark::State::Saved out;
  const auto location = get<int>(list, "location"),
             copies = get<int>(list, "copies"), each = get<int>(list, "each");
  const auto varphi = get<double>(list, "varphi");
  require(copies.size() == location.size() && each.size() == location.size(),
          "the state's kernels are incomplete");
  auto next = varphi.begin();
  for (std::size_t j = 0; j < location.size(); ++j) {
    require(each[j] >= 0 && each[j] <= varphi.end() - next,
            "the state's kernels are incomplete");
    out.slots.push_back({location[j], copies[j],
                         std::vector<double>(next, next + each[j]), nullptr});
    next += each[j];
  }
  out.log_lambda = get<double>(list, "log_lambda");
  bark_r::take_shapes(list, out.log_lambda.size(), out.slots);
  const auto included = get<int>(list, "included");
  out.included.assign(included.begin(), included.end());
  out.phi = list["phi"];
  out.log_likelihood = list["log_likelihood"];
  out.exponents = Rcpp::as<Eigen::MatrixXd>(list["exponents"]);
  out.gram = Rcpp::as<Eigen::MatrixXd>(list["gram"]);
  out.covariance = Rcpp::as<Eigen::MatrixXd>(list["covariance"]);
  out.product = Rcpp::as<Eigen::VectorXd>(list["product"]);
  out.mean = Rcpp::as<Eigen::VectorXd>(list["mean"]);
  out.latent = Rcpp::as<Eigen::VectorXd>(list["latent"]);
  get_if_there(list, "row_weights", out.row_weights);
  get_if_there(list, "log_gaps", out.log_gaps);
  get_if_there(list, "directions", out.directions);
  return out;
}

}  // namespace

Rcpp::List bark_r::states_to_r(const std::vector<bark::State::Saved>& states) {
  Rcpp::List out;
  for (const auto& state : states) out.push_back(saved_to_r(state));
  return out;
}

std::vector<bark::State::Saved> bark_r::states_from_r(const Rcpp::List& list) {
  std::vector<bark::State::Saved> out;
  for (const Rcpp::List state : list) out.push_back(saved_from_r(state));
  return out;
}

namespace {

Rcpp::List steps_list(const std::vector<bark::Steps::One>& steps) {
  std::vector<double> log_length;
  std::vector<int> times;
  for (const auto& one : steps) {
    log_length.push_back(one.log_length);
    times.push_back(one.times);
  }
  return Rcpp::List::create(_["log_length"] = log_length, _["times"] = times);
}

std::vector<bark::Steps::One> steps_of(const Rcpp::List& list) {
  const auto log_length = get<double>(list, "log_length");
  const auto times = get<int>(list, "times");
  std::vector<bark::Steps::One> out;
  for (std::size_t i = 0; i < log_length.size(); ++i) {
    out.push_back({log_length[i], times.at(i)});
  }
  return out;
}

}  // namespace

// Of all scales, of the noise, of the magnitude, of each predictor; those of
// cut points and directions apart, where there are any.
Rcpp::List bark_r::steps_to_r(const std::vector<bark::Steps>& steps) {
  Rcpp::List out;
  for (const auto& step : steps) {
    std::vector<bark::Steps::One> all{step.all, step.noise, step.magnitude};
    all.insert(all.end(), step.scales.begin(), step.scales.end());
    Rcpp::List one = steps_list(all);
    if (!step.cuts.empty()) one["cuts"] = steps_list(step.cuts);
    if (!step.directions.empty()) {
      one["directions"] = steps_list(step.directions);
    }
    out.push_back(one);
  }
  return out;
}

std::vector<bark::Steps> bark_r::steps_from_r(const Rcpp::List& list) {
  std::vector<bark::Steps> out;
  for (const Rcpp::List step : list) {
    const std::vector<bark::Steps::One> all = steps_of(step);
    bark::Steps one;
    one.all = all.at(0);
    one.noise = all.at(1);
    one.magnitude = all.at(2);
    one.scales.assign(all.begin() + 3, all.end());
    if (step.containsElementNamed("cuts")) one.cuts = steps_of(step["cuts"]);
    if (step.containsElementNamed("directions")) {
      one.directions = steps_of(step["directions"]);
    }
    out.push_back(std::move(one));
  }
  return out;
}

namespace {

Rcpp::List draws_to_r(const bark::Draws& draws, const bark::Prior& prior) {
  Rcpp::List out = Rcpp::List::create(
      _["m"] = draws.m, _["location"] = draws.location,
      _["copies"] = draws.copies, _["included"] = draws.included,
      _["log_lambda"] = draws.log_lambda, _["noise"] = draws.noise,
      _["log_likelihood"] = draws.log_likelihood,
      _["variance"] = draws.variance, _["beta"] = draws.beta,
      _["factor"] = draws.factor, _["z"] = draws.z);
  if (!draws.cuts.empty()) out["cuts"] = draws.cuts;
  if (prior.directions > 0) out.push_back(draws.directions, "directions");
  if (prior.centre_sd > 0) out.push_back(draws.centre, "centre");
  if (prior.own_scales) {
    out.push_back(draws.own_log_lambda, "own_log_lambda");
    out.push_back(draws.own_included, "own_included");
  }
  return out;
}

bark::Draws draws_from_r(const Rcpp::List& list) {
  bark::Draws out{get<int>(list, "m"),
                  get<int>(list, "location"),
                  get<int>(list, "copies"),
                  get<int>(list, "included"),
                  get<double>(list, "log_lambda"),
                  get<double>(list, "noise"),
                  get<double>(list, "log_likelihood"),
                  get<double>(list, "variance"),
                  get<double>(list, "beta"),
                  get<double>(list, "factor"),
                  get<double>(list, "z"),
                  {},
                  {},
                  {},
                  {},
                  {}};
  get_if_there(list, "cuts", out.cuts);
  get_if_there(list, "directions", out.directions);
  get_if_there(list, "centre", out.centre);
  get_if_there(list, "own_log_lambda", out.own_log_lambda);
  get_if_there(list, "own_included", out.own_included);
  return out;
}

bark::Chain::Saved chain_from_r(const Rcpp::List& list) {
  bark::Chain::Saved out;
  out.time = list["time"];
  out.states = bark_r::states_from_r(list["states"]);
  out.steps = bark_r::steps_from_r(list["steps"]);
  out.counts = counts_from_r<bark::Counts>(list);
  out.rng = words_from_r(get<double>(list, "rng"));
  out.draws = draws_from_r(list["draws"]);
  out.seconds = list["seconds"];
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP bark_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                   const Eigen::VectorXd& y, const Eigen::VectorXd& weights,
                   Rcpp::Nullable<Rcpp::List> state) {
  auto chain = std::make_unique<bark::Chain>(
      bark_r::prior(config["prior"]), bark_r::chain_settings(config),
      bark_r::data(config, x, y, weights));
  return open_machine(std::move(chain), state, chain_from_r);
}

// [[Rcpp::export(rng = false)]]
int bark_advance_cpp(SEXP handle, int n) {
  return advance_machine<bark::Chain>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void bark_close_cpp(SEXP handle) { close_machine<bark::Chain>(handle); }

namespace {

// The moves of cut points and of directions only where there are any.
int kinds_of(const bark::State::Saved& state) {
  if (state.directions.size() > 0) return bark::kMoveKinds;
  return state.log_gaps.empty() ? bark::kCuts : bark::kRotate;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_snapshot_cpp(SEXP handle) {
  const bark::Chain& chain = machine_of<bark::Chain>(handle);
  const bark::Chain::Saved saved = chain.save();
  const int kinds = kinds_of(saved.states.front());
  const auto named = [kinds](const auto& counts) {
    return named_counts(counts, kinds, &bark::move_name);
  };
  return Rcpp::List::create(_["time"] = saved.time,
                            _["draws"] = draws_to_r(saved.draws, chain.prior()),
                            _["states"] = bark_r::states_to_r(saved.states),
                            _["steps"] = bark_r::steps_to_r(saved.steps),
                            _["tried"] = named(saved.counts.tried),
                            _["accepted"] = named(saved.counts.accepted),
                            _["rng"] = words_to_r(saved.rng),
                            _["seconds"] = saved.seconds);
}
