// The truncation approximation of bark for R: core/bark/truncated_chain.hpp.
#include <RcppEigen.h>

#include <memory>

#include "core/bark/truncated_chain.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/counts.hpp"
#include "glue/lists.hpp"
#include "glue/machine.hpp"
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

Rcpp::List states_to_r(const std::vector<bark::TruncatedState::Saved>& states) {
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

std::vector<bark::TruncatedState::Saved> states_from_r(const Rcpp::List& list) {
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

TruncatedChain::Saved chain_from_r(const Rcpp::List& list) {
  TruncatedChain::Saved out;
  out.time = list["time"];
  out.states = states_from_r(list["states"]);
  out.steps = bark_r::steps_from_r(list["steps"]);
  out.counts = counts_from_r<bark::TruncatedCounts>(list);
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
      bark_r::data(config, x, y, weights));
  return open_machine(std::move(chain), state, chain_from_r);
}

// [[Rcpp::export(rng = false)]]
int bark_truncated_advance_cpp(SEXP handle, int n) {
  return advance_machine<TruncatedChain>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void bark_truncated_close_cpp(SEXP handle) {
  close_machine<TruncatedChain>(handle);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_snapshot_cpp(SEXP handle) {
  const TruncatedChain::Saved saved = machine_of<TruncatedChain>(handle).save();
  const auto named = [](const auto& counts) {
    return named_counts(counts, bark::kTruncatedMoves,
                        &bark::truncated_move_name);
  };
  return Rcpp::List::create(
      _["time"] = saved.time, _["draws"] = draws_to_r(saved.draws),
      _["states"] = states_to_r(saved.states),
      _["steps"] = bark_r::steps_to_r(saved.steps),
      _["tried"] = named(saved.counts.tried),
      _["accepted"] = named(saved.counts.accepted),
      _["rng"] = words_to_r(saved.rng), _["swapped"] = saved.swapped,
      _["log_ratio"] = saved.log_ratio, _["seconds"] = saved.seconds);
}
