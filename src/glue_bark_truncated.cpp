// The truncation approximation of bark for R: core/bark/truncated_chain.hpp.
#include <RcppEigen.h>

#include <memory>

#include "core/bark/truncated_chain.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/words.hpp"

namespace {

using namespace kernelbayes;
using bark::TruncatedChain;
using Rcpp::_;

bark::TruncatedSettings truncated_settings(const Rcpp::List& config) {
  bark::TruncatedSettings out;
  out.chain.warmup = config["warmup"];
  out.chain.iterations = config["iter"];
  out.chain.seed = run_seed(config, "chain");
  if (config.containsElementNamed("rungs")) {
    out.ladder = get<double>(config, "rungs");
    return out;
  }
  out.chain.thin = config["thin"];
  out.chain.n_temps = config["n_temps"];
  out.chain.prior_only = config["prior_only"];
  return out;
}

Rcpp::List states_to_r(
    const std::vector<bark::TruncatedState::Saved>& states) {
  Rcpp::List out;
  for (const auto& state : states) {
    std::vector<int> location;
    std::vector<double> beta;
    for (const bark::Kernel& kernel : state.kernels) {
      location.push_back(kernel.location);
      beta.push_back(kernel.beta);
    }
    out.push_back(Rcpp::List::create(
        _["location"] = location, _["beta"] = beta,
        _["log_lambda"] = state.log_lambda,
        _["included"] =
            std::vector<int>(state.included.begin(), state.included.end()),
        _["phi"] = state.phi, _["latent"] = state.latent));
  }
  return out;
}

std::vector<bark::TruncatedState::Saved> states_from_r(
    const Rcpp::List& list) {
  std::vector<bark::TruncatedState::Saved> out;
  for (const Rcpp::List one : list) {
    bark::TruncatedState::Saved state;
    const auto location = get<int>(one, "location");
    const auto beta = get<double>(one, "beta");
    for (std::size_t j = 0; j < location.size(); ++j) {
      state.kernels.push_back({location[j], beta.at(j)});
    }
    state.log_lambda = get<double>(one, "log_lambda");
    const auto included = get<int>(one, "included");
    state.included.assign(included.begin(), included.end());
    state.phi = one["phi"];
    state.latent = Rcpp::as<Eigen::VectorXd>(one["latent"]);
    out.push_back(std::move(state));
  }
  return out;
}

// In the form of the other draws: coefficients are not integrated out, so that
// there is nothing to tell of their law.
Rcpp::List draws_to_r(const bark::TruncatedDraws& draws) {
  const std::vector<double> none;
  return Rcpp::List::create(
      _["m"] = draws.m, _["location"] = draws.location,
      _["copies"] = draws.copies, _["included"] = draws.included,
      _["log_lambda"] = draws.log_lambda, _["noise"] = draws.noise,
      _["log_likelihood"] = draws.log_likelihood, _["variance"] = none,
      _["beta"] = draws.beta, _["factor"] = none, _["z"] = none);
}

bark::TruncatedDraws draws_from_r(const Rcpp::List& list) {
  return {get<int>(list, "m"),
          get<int>(list, "location"),
          get<int>(list, "copies"),
          get<int>(list, "included"),
          get<double>(list, "log_lambda"),
          get<double>(list, "noise"),
          get<double>(list, "log_likelihood"),
          get<double>(list, "beta")};
}

TruncatedChain& chain_of(SEXP pointer) {
  return *Rcpp::XPtr<TruncatedChain>(pointer).checked_get();
}

TruncatedChain::Saved chain_from_r(const Rcpp::List& list) {
  TruncatedChain::Saved out;
  out.time = list["time"];
  out.states = states_from_r(list["states"]);
  out.steps = bark_r::steps_from_r(list["steps"]);
  const auto tried = get<double>(list, "tried"),
             accepted = get<double>(list, "accepted");
  std::copy(tried.begin(), tried.end(), out.counts.tried.begin());
  std::copy(accepted.begin(), accepted.end(), out.counts.accepted.begin());
  out.rng = words_from_r(get<double>(list, "rng"));
  out.draws = draws_from_r(list["draws"]);
  out.swapped = get<double>(list, "swapped");
  out.log_ratio = get<double>(list, "log_ratio");
  out.seconds = list["seconds"];
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP bark_truncated_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x,
                             const Eigen::VectorXd& y,
                             const Eigen::VectorXd& weights,
                             Rcpp::Nullable<Rcpp::List> state) {
  auto chain = std::make_unique<TruncatedChain>(
      bark_r::prior(config["prior"]), truncated_settings(config),
      bark::Data{x, y, weights, bark_r::family(config["family"])});
  if (state.isNotNull()) chain->restore(chain_from_r(Rcpp::List(state.get())));
  return Rcpp::XPtr<TruncatedChain>(chain.release());
}

// [[Rcpp::export(rng = false)]]
int bark_truncated_advance_cpp(SEXP handle, int n) {
  TruncatedChain& chain = chain_of(handle);
  chain.advance(n);
  return chain.time();
}

// [[Rcpp::export(rng = false)]]
void bark_truncated_close_cpp(SEXP handle) {
  Rcpp::XPtr<TruncatedChain>(handle).release();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_snapshot_cpp(SEXP handle) {
  const TruncatedChain::Saved saved = chain_of(handle).save();
  Rcpp::CharacterVector names;
  for (int kind = 0; kind < bark::kTruncatedMoves; ++kind) {
    names.push_back(bark::truncated_move_name(kind));
  }
  Rcpp::NumericVector tried(saved.counts.tried.begin(),
                            saved.counts.tried.end());
  Rcpp::NumericVector accepted(saved.counts.accepted.begin(),
                               saved.counts.accepted.end());
  tried.names() = names;
  accepted.names() = names;
  return Rcpp::List::create(
      _["time"] = saved.time, _["draws"] = draws_to_r(saved.draws),
      _["states"] = states_to_r(saved.states),
      _["steps"] = bark_r::steps_to_r(saved.steps), _["tried"] = tried,
      _["accepted"] = accepted, _["rng"] = words_to_r(saved.rng),
      _["swapped"] = saved.swapped, _["log_ratio"] = saved.log_ratio,
      _["seconds"] = saved.seconds);
}
