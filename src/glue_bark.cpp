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
  out.seed = run_seed(config, "chain");
  return out;
}

}  // namespace

Rcpp::List bark_r::saved_to_r(const bark::State::Saved& state) {
  std::vector<int> location, copies, each;
  std::vector<double> varphi;
  for (const bark::Slot& slot : state.slots) {
    location.push_back(slot.location);
    copies.push_back(slot.copies);
    each.push_back(static_cast<int>(slot.varphi.size()));
    varphi.insert(varphi.end(), slot.varphi.begin(), slot.varphi.end());
  }
  return Rcpp::List::create(
      _["location"] = location, _["copies"] = copies, _["each"] = each,
      _["varphi"] = varphi, _["log_lambda"] = state.log_lambda,
      _["included"] =
          std::vector<int>(state.included.begin(), state.included.end()),
      _["phi"] = state.phi, _["log_likelihood"] = state.log_likelihood,
      _["gram"] = state.gram, _["covariance"] = state.covariance,
      _["product"] = state.product, _["mean"] = state.mean,
      _["latent"] = state.latent);
}

bark::State::Saved bark_r::saved_from_r(const Rcpp::List& list) {
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
  const auto included = get<int>(list, "included");
  out.included.assign(included.begin(), included.end());
  out.phi = list["phi"];
  out.log_likelihood = list["log_likelihood"];
  out.gram = Rcpp::as<Eigen::MatrixXd>(list["gram"]);
  out.covariance = Rcpp::as<Eigen::MatrixXd>(list["covariance"]);
  out.product = Rcpp::as<Eigen::VectorXd>(list["product"]);
  out.mean = Rcpp::as<Eigen::VectorXd>(list["mean"]);
  out.latent = Rcpp::as<Eigen::VectorXd>(list["latent"]);
  return out;
}

Rcpp::List bark_r::steps_to_r(const std::vector<bark::Steps>& steps) {
  Rcpp::List out;
  for (const auto& step : steps) {
    out.push_back(
        Rcpp::NumericVector(step.log_step.begin(), step.log_step.end()));
  }
  return out;
}

std::vector<bark::Steps> bark_r::steps_from_r(const Rcpp::List& list) {
  std::vector<bark::Steps> out;
  for (const Rcpp::NumericVector step : list) {
    bark::Steps one;
    std::copy(step.begin(), step.end(), one.log_step.begin());
    out.push_back(one);
  }
  return out;
}

namespace {

Rcpp::List draws_to_r(const bark::Draws& draws) {
  return Rcpp::List::create(
      _["m"] = draws.m, _["location"] = draws.location,
      _["copies"] = draws.copies, _["included"] = draws.included,
      _["log_lambda"] = draws.log_lambda, _["noise"] = draws.noise,
      _["log_likelihood"] = draws.log_likelihood,
      _["variance"] = draws.variance, _["beta"] = draws.beta,
      _["factor"] = draws.factor, _["z"] = draws.z);
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
          get<double>(list, "z")};
}

bark::Chain& chain_of(SEXP pointer) {
  return *Rcpp::XPtr<bark::Chain>(pointer).checked_get();
}

bark::Chain::Saved chain_from_r(const Rcpp::List& list) {
  bark::Chain::Saved out;
  out.time = list["time"];
  const Rcpp::List states = list["states"];
  for (const Rcpp::List state : states) {
    out.states.push_back(bark_r::saved_from_r(state));
  }
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

// Columns of the kernel at new points for the slots of one draw.
void fill_columns(const Eigen::MatrixXd& x, const Eigen::MatrixXd& train,
                  const int* location, int m, const double* log_lambda,
                  const int* included, Eigen::MatrixXd& out) {
  out.setZero(x.rows(), m);
  for (int l = 0; l < x.cols(); ++l) {
    if (!included[l]) continue;
    const double lambda = std::exp(log_lambda[l]);
    for (int j = 0; j < m; ++j) {
      if (location[j] == 0) continue;
      out.col(j).array() -=
          lambda * (x.col(l).array() - train(location[j] - 1, l)).square();
    }
  }
  out = out.array().exp();
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
  const bark::Chain::Saved saved = chain_of(handle).save();
  Rcpp::List states;
  for (const auto& state : saved.states) {
    states.push_back(bark_r::saved_to_r(state));
  }
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
      _["time"] = saved.time, _["draws"] = draws_to_r(saved.draws),
      _["states"] = states, _["steps"] = bark_r::steps_to_r(saved.steps),
      _["tried"] = tried, _["accepted"] = accepted,
      _["rng"] = words_to_r(saved.rng),
      _["seconds"] = saved.seconds);
}

// At the rows of x, a column a draw: the mean and variance of f given all but
// the coefficients, or f with the coefficients drawn.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_moments_cpp(Rcpp::List draws, const Eigen::MatrixXd& x,
                            const Eigen::MatrixXd& train, bool drawn) {
  const bark::Draws all = draws_from_r(draws);
  const std::size_t n = all.m.size();
  Eigen::MatrixXd mean(x.rows(), n);
  Eigen::MatrixXd variance(drawn ? 0 : x.rows(), drawn ? 0 : n);
  Eigen::MatrixXd columns;
  std::size_t at = 0, at_factor = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const int m = all.m[i];
    fill_columns(x, train, all.location.data() + at, m,
                 all.log_lambda.data() + i * x.cols(),
                 all.included.data() + i * x.cols(), columns);
    if (drawn) {
      mean.col(i) = columns * Eigen::Map<const Eigen::VectorXd>(
                                  all.beta.data() + at, m);
    } else {
      Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(m, m);
      for (int j = 0; j < m; ++j) {
        for (int r = j; r < m; ++r) factor(r, j) = all.factor[at_factor++];
      }
      const Eigen::MatrixXd h =
          factor.triangularView<Eigen::Lower>().solve(columns.transpose());
      mean.col(i) = h.transpose() * Eigen::Map<const Eigen::VectorXd>(
                                        all.z.data() + at, m);
      variance.col(i) = h.colwise().squaredNorm().transpose();
    }
    at += m;
  }
  return Rcpp::List::create(_["mean"] = mean, _["variance"] = variance);
}
