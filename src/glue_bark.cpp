#include <RcppEigen.h>

#include <memory>

#include "core/bark/chain.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/words.hpp"
#include "kernelbayes/cholesky.hpp"

namespace {

using namespace kernelbayes;
using Rcpp::_;

bark::ChainSettings chain_settings(const Rcpp::List& config) {
  bark::ChainSettings out;
  out.warmup = config["warmup"];
  out.iterations = config["iter"];
  out.thin = config["thin"];
  out.n_temps = config["n_temps"];
  out.prior_only = config["prior_only"];
  out.full = Rcpp::as<std::string>(config["sweep"]) == "full";
  out.seed = run_seed(config, "chain");
  return out;
}

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
      _["latent"] = state.latent,
      _["exponents"] = state.exponents, _["gram"] = state.gram,
      _["covariance"] = state.covariance, _["product"] = state.product,
      _["mean"] = state.mean);
  bark_r::add_shapes(out, state.slots);
  return out;
}

bark::State::Saved saved_from_r(const Rcpp::List& list) {
  bark::State::Saved out;
  const auto location = get<int>(list, "location"),
             copies = get<int>(list, "copies"), each = get<int>(list, "each");
  const auto varphi = get<double>(list, "varphi");
  auto next = varphi.begin();
  for (std::size_t j = 0; j < location.size(); ++j) {
    out.slots.push_back(
        {location[j], copies[j], std::vector<double>(next, next + each[j])});
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
  return out;
}

}  // namespace

Rcpp::List bark_r::states_to_r(
    const std::vector<bark::State::Saved>& states) {
  Rcpp::List out;
  for (const auto& state : states) out.push_back(saved_to_r(state));
  return out;
}

std::vector<bark::State::Saved> bark_r::states_from_r(const Rcpp::List& list) {
  std::vector<bark::State::Saved> out;
  for (const Rcpp::List state : list) out.push_back(saved_from_r(state));
  return out;
}

// Of all scales, of the noise, of the magnitude, of each predictor.
Rcpp::List bark_r::steps_to_r(const std::vector<bark::Steps>& steps) {
  Rcpp::List out;
  for (const auto& step : steps) {
    std::vector<bark::Steps::One> all{step.all, step.noise, step.magnitude};
    all.insert(all.end(), step.scales.begin(), step.scales.end());
    std::vector<double> log_length;
    std::vector<int> times;
    for (const auto& one : all) {
      log_length.push_back(one.log_length);
      times.push_back(one.times);
    }
    out.push_back(
        Rcpp::List::create(_["log_length"] = log_length, _["times"] = times));
  }
  return out;
}

std::vector<bark::Steps> bark_r::steps_from_r(const Rcpp::List& list) {
  std::vector<bark::Steps> out;
  for (const Rcpp::List step : list) {
    const auto log_length = get<double>(step, "log_length");
    const auto times = get<int>(step, "times");
    bark::Steps one;
    one.all = {log_length.at(0), times.at(0)};
    one.noise = {log_length.at(1), times.at(1)};
    one.magnitude = {log_length.at(2), times.at(2)};
    for (std::size_t i = 3; i < log_length.size(); ++i) {
      one.scales.push_back({log_length[i], times.at(i)});
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
  if (prior.centre_sd > 0) out.push_back(draws.centre, "centre");
  if (prior.own_scales) {
    out.push_back(draws.own_log_lambda, "own_log_lambda");
    out.push_back(draws.own_included, "own_included");
  }
  return out;
}

template <typename T>
std::vector<T> get_if_any(const Rcpp::List& list, const char* name) {
  if (!list.containsElementNamed(name)) return {};
  return get<T>(list, name);
}

bark::Draws draws_from_r(const Rcpp::List& list) {
  return {get<int>(list, "m"),
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
          get_if_any<double>(list, "centre"),
          get_if_any<double>(list, "own_log_lambda"),
          get_if_any<int>(list, "own_included")};
}

bark::Chain& chain_of(SEXP pointer) {
  return *Rcpp::XPtr<bark::Chain>(pointer).checked_get();
}

bark::Chain::Saved chain_from_r(const Rcpp::List& list) {
  bark::Chain::Saved out;
  out.time = list["time"];
  out.states = bark_r::states_from_r(list["states"]);
  out.steps = bark_r::steps_from_r(list["steps"]);
  const auto tried = get<double>(list, "tried"),
             accepted = get<double>(list, "accepted");
  std::copy(tried.begin(), tried.end(), out.counts.tried.begin());
  std::copy(accepted.begin(), accepted.end(), out.counts.accepted.begin());
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
      bark_r::prior(config["prior"]), chain_settings(config),
      bark::Data{x, y, weights, bark_r::family(config["family"])});
  if (state.isNotNull()) chain->restore(chain_from_r(Rcpp::List(state.get())));
  return Rcpp::XPtr<bark::Chain>(chain.release());
}

// [[Rcpp::export(rng = false)]]
int bark_advance_cpp(SEXP handle, int n) {
  bark::Chain& chain = chain_of(handle);
  chain.advance(n);
  return chain.time();
}

// [[Rcpp::export(rng = false)]]
void bark_close_cpp(SEXP handle) { Rcpp::XPtr<bark::Chain>(handle).release(); }

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_snapshot_cpp(SEXP handle) {
  const bark::Chain& chain = chain_of(handle);
  const bark::Chain::Saved saved = chain.save();
  Rcpp::CharacterVector names;
  for (int kind = 0; kind < bark::kMoveKinds; ++kind) {
    names.push_back(bark::move_name(kind));
  }
  Rcpp::NumericVector tried(saved.counts.tried.begin(),
                            saved.counts.tried.end());
  Rcpp::NumericVector accepted(saved.counts.accepted.begin(),
                               saved.counts.accepted.end());
  tried.names() = names;
  accepted.names() = names;
  return Rcpp::List::create(
      _["time"] = saved.time,
      _["draws"] = draws_to_r(saved.draws, chain.prior()),
      _["states"] = bark_r::states_to_r(saved.states),
      _["steps"] = bark_r::steps_to_r(saved.steps),
      _["tried"] = tried, _["accepted"] = accepted,
      _["rng"] = words_to_r(saved.rng),
      _["seconds"] = saved.seconds);
}
