#include <RcppEigen.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

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

Rcpp::List saved_to_r(const bark::State::Saved& state) {
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
      _["phi"] = state.phi, _["amplitude"] = state.amplitude,
      _["log_likelihood"] = state.log_likelihood, _["gram"] = state.gram,
      _["covariance"] = state.covariance, _["product"] = state.product,
      _["mean"] = state.mean, _["latent"] = state.latent);
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
  const auto included = get<int>(list, "included");
  out.included.assign(included.begin(), included.end());
  out.phi = list["phi"];
  out.amplitude = list["amplitude"];
  out.log_likelihood = list["log_likelihood"];
  out.gram = Rcpp::as<Eigen::MatrixXd>(list["gram"]);
  out.covariance = Rcpp::as<Eigen::MatrixXd>(list["covariance"]);
  out.product = Rcpp::as<Eigen::VectorXd>(list["product"]);
  out.mean = Rcpp::as<Eigen::VectorXd>(list["mean"]);
  out.latent = Rcpp::as<Eigen::VectorXd>(list["latent"]);
  return out;
}

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
  const Rcpp::List states = list["states"], steps = list["steps"];
  for (const Rcpp::List state : states) {
    out.states.push_back(saved_from_r(state));
  }
  for (const Rcpp::NumericVector step : steps) {
    bark::Steps one;
    std::copy(step.begin(), step.end(), one.log_step.begin());
    out.steps.push_back(one);
  }
  const auto tried = get<double>(list, "tried"),
             accepted = get<double>(list, "accepted");
  std::copy(tried.begin(), tried.end(), out.counts.tried.begin());
  std::copy(accepted.begin(), accepted.end(), out.counts.accepted.begin());
  out.rng = words_from_r(get<double>(list, "rng"));
  out.draws = draws_from_r(list["draws"]);
  out.seconds = list["seconds"];
  return out;
}

// The draws of all chains where R holds them, without a copy.
class PooledDraws {
 public:
  explicit PooledDraws(const Rcpp::List& list)
      : m_(list["m"]),
        location_(list["location"]),
        included_(list["included"]),
        log_lambda_(list["log_lambda"]),
        beta_(list["beta"]),
        factor_(list["factor"]),
        z_(list["z"]) {
    std::size_t slots = 0, entries = 0;
    for (const int m : m_) {
      first_slot_.push_back(slots);
      first_entry_.push_back(entries);
      slots += m;
      entries += static_cast<std::size_t>(m) * (m + 1) / 2;
    }
  }

  using Map = Eigen::Map<const Eigen::VectorXd>;
  Map beta(int i) const { return {beta_.begin() + first_slot_[i], m_[i]}; }
  Map z(int i) const { return {z_.begin() + first_slot_[i], m_[i]}; }

  Eigen::MatrixXd factor(int i) const {
    const int m = m_[i];
    const double* next = factor_.begin() + first_entry_[i];
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(m, m);
    for (int j = 0; j < m; ++j) {
      for (int r = j; r < m; ++r) out(r, j) = *next++;
    }
    return out;
  }

  // Columns of the kernel at the rows of x for the slots of draw i.
  void fill_columns(int i, const Eigen::MatrixXd& x,
                    const Eigen::MatrixXd& train, Eigen::MatrixXd& out) const {
    const int m = m_[i];
    const Eigen::Index first = i * x.cols();
    const int* location = location_.begin() + first_slot_[i];
    out.setZero(x.rows(), m);
    for (Eigen::Index l = 0; l < x.cols(); ++l) {
      if (!included_[first + l]) continue;
      const double lambda = std::exp(log_lambda_[first + l]);
      for (int j = 0; j < m; ++j) {
        if (location[j] == 0) continue;
        out.col(j).array() -=
            lambda * (x.col(l).array() - train(location[j] - 1, l)).square();
      }
    }
    out = out.array().exp();
  }

 private:
  Rcpp::IntegerVector m_, location_, included_;
  Rcpp::NumericVector log_lambda_, beta_, factor_, z_;
  std::vector<std::size_t> first_slot_, first_entry_;
};

// Means of each `size` rows.
Eigen::MatrixXd group_means(const Eigen::MatrixXd& columns, int size) {
  Eigen::MatrixXd out(columns.rows() / size, columns.cols());
  for (Eigen::Index i = 0; i < out.rows(); ++i) {
    out.row(i) = columns.middleRows(i * size, size).colwise().mean();
  }
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
  const bark::Chain::Saved saved = chain_of(handle).save();
  Rcpp::List states, steps;
  for (const auto& state : saved.states) states.push_back(saved_to_r(state));
  for (const auto& step : saved.steps) {
    steps.push_back(
        Rcpp::NumericVector(step.log_step.begin(), step.log_step.end()));
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
      _["states"] = states, _["steps"] = steps, _["tried"] = tried,
      _["accepted"] = accepted, _["rng"] = words_to_r(saved.rng),
      _["seconds"] = saved.seconds);
}

// At the rows of x, a column a draw of `chosen` (from 1), by `what`: the mean
// of f given all but the coefficients ("mean"), with its variance ("moments"),
// or f with the coefficients drawn ("draw"). Each `average` rows, one group
// after the other, are replaced by the mean of f over them.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_values_cpp(const Rcpp::List& draws, const Eigen::MatrixXd& x,
                           const Eigen::MatrixXd& train,
                           const std::string& what,
                           const Rcpp::IntegerVector& chosen, int average) {
  const PooledDraws all(draws);
  const bool moments = what == "moments";
  const Eigen::Index n = x.rows() / average, s = chosen.size();
  Eigen::MatrixXd mean(n, s), variance(moments ? n : 0, moments ? s : 0);
  Eigen::MatrixXd columns;
  for (Eigen::Index i = 0; i < s; ++i) {
    const int draw = chosen[i] - 1;
    all.fill_columns(draw, x, train, columns);
    if (average > 1) columns = group_means(columns, average);
    if (what == "draw") {
      mean.col(i) = columns * all.beta(draw);
      continue;
    }
    const Eigen::MatrixXd factor = all.factor(draw);
    const auto lower = factor.triangularView<Eigen::Lower>();
    if (moments) {
      const Eigen::MatrixXd h = lower.solve(columns.transpose());
      mean.col(i) = h.transpose() * all.z(draw);
      variance.col(i) = h.colwise().squaredNorm().transpose();
    } else {
      mean.col(i) = columns * lower.transpose().solve(all.z(draw)).eval();
    }
  }
  return Rcpp::List::create(_["mean"] = mean, _["variance"] = variance);
}
