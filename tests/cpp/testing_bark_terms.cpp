// Entries through which tests reach the terms beside bark's kernels: states
// with given terms, draws of their coefficients, and the law of their moves.
#include <RcppEigen.h>

#include "bark_moves.hpp"
#include "core/bark/chain/sweep.hpp"
#include "glue/bark_from_r.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using bark::State;
using bark::TermValues;
using testing_r::squash;

bark::Data data_with_terms(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                           const Eigen::VectorXd& weights,
                           const std::string& family, const Rcpp::List& terms) {
  bark::Data out{x, y, weights, bark::family(family)};
  out.terms = bark_r::terms(terms);
  return out;
}

TermValues values_from_r(const Rcpp::List& list) {
  TermValues out;
  out.gamma = Rcpp::as<Eigen::VectorXd>(list["gamma"]);
  const Rcpp::List factors = list["factors"];
  for (const Rcpp::List factor : factors) {
    out.factors.push_back({Rcpp::as<Eigen::MatrixXd>(factor["b"]),
                           Rcpp::as<Eigen::MatrixXd>(factor["sigma"]),
                           Rcpp::as<Eigen::VectorXd>(factor["auxiliary"])});
  }
  return out;
}

// gamma and b of all factors, one after another.
std::vector<double> coefficients(const TermValues& values) {
  std::vector<double> out(values.gamma.begin(), values.gamma.end());
  for (const TermValues::Factor& factor : values.factors) {
    out.insert(out.end(), factor.b.data(), factor.b.data() + factor.b.size());
  }
  return out;
}

const bark::Terms& terms_of(const State& state) {
  return state.response_model().terms();
}

// sqrt(w) (y - terms - f), from the definition.
Eigen::VectorXd weighted_rest(const State& state, const TermValues& values,
                              const Eigen::VectorXd& f) {
  const bark::Data& data = state.data();
  Eigen::VectorXd root = data.weights.cwiseSqrt();
  if (data.student()) root.array() *= state.row_weights().array().sqrt();
  return root.cwiseProduct(data.y - f - terms_of(state).fit(values));
}

// Statistics
// --------------------------------------------------------------------

// Without those of the terms.
constexpr int kCommon = 12;

int n_statistics(const bark::Data& data) {
  int out = kCommon + 2 + 2 * (data.terms.slopes > 0);
  for (const bark::Grouping& grouping : data.terms.groupings) {
    out += 3 + 2 * grouping.size() + (grouping.size() > 1);
  }
  return out;
}

void statistics(const State& state, double* out) {
  const TermValues& values = terms_of(state).values();
  const bark::Data& data = state.data();
  double varphi = 0;
  for (int j = 0; j < state.size(); ++j) {
    for (const double v : state.slot(j).varphi) varphi += squash(std::log(v));
  }
  const bool student = data.student();
  const Eigen::VectorXd rest =
      weighted_rest(state, values, Eigen::VectorXd::Zero(data.n()));
  const double common[kCommon] = {
      double(state.copies()),
      double(state.size()),
      varphi,
      squash(std::log(state.total_scale())),
      squash(std::log(state.noise())),
      squash(state.log_likelihood()),
      squash(data.y[0]),
      squash(std::log(data.y.squaredNorm())),
      student ? squash(std::log(state.row_weights()[0])) : 0,
      student ? squash(state.row_weights().sum()) : 0,
      student ? state.df() : 0,
      squash(std::log(state.noise() * rest.squaredNorm()) - 3)};
  out = std::copy(common, common + kCommon, out);
  *out++ = values.gamma.size() > 0 ? squash(values.gamma[0]) : 0;
  *out++ = values.gamma.size() > 0 ? squash(values.gamma.tail(1)[0]) : 0;
  if (const int p = data.terms.slopes; p > 0) {
    *out++ = squash(std::log(values.slope_sd));
    *out++ = squash(std::log(values.gamma.tail(p).squaredNorm()));
  }
  for (const TermValues::Factor& factor : values.factors) {
    const Eigen::MatrixXd& b = factor.b;
    *out++ = squash(b(0, 0));
    *out++ = squash(b(b.rows() - 1, b.cols() - 1));
    *out++ = squash(std::log(b.squaredNorm()));
    for (Eigen::Index l = 0; l < b.rows(); ++l) {
      *out++ = squash(std::log(factor.sigma(l, l)));
      *out++ = squash(std::log(factor.auxiliary[l]));
    }
    if (b.rows() > 1) {
      *out++ = factor.sigma(0, 1) /
               std::sqrt(factor.sigma(0, 0) * factor.sigma(1, 1));
    }
  }
}

// Laws
// --------------------------------------------------------------------------

// All but y from the prior.
void draw_theta(State& state, Rng& rng) {
  bark::draw_prior(state, rng);
  bark::draw_prior_df(state, rng);
  Eigen::VectorXd weights;
  if (state.data().student()) {
    const double shape = state.df() / 2;
    weights.resize(state.data().n());
    for (double& value : weights) value = rng.gamma(shape) / shape;
  }
  state.set_terms(terms_of(state).draw_prior(rng), false, state.noise(),
                  std::move(weights));
}

// y given f and terms.
void draw_response(State& state, bark::Data& data, Eigen::VectorXd mean,
                   Rng& rng) {
  for (int i = 0; i < data.n(); ++i) {
    const double omega = data.student() ? state.row_weights()[i] : 1;
    mean[i] +=
        rng.normal() / std::sqrt(state.noise() * data.weights[i] * omega);
  }
  data.y = mean;
  state.set_response(std::move(mean));
}

// Coefficients from their prior.
void simulate(State& state, bark::Data& data, Rng& rng) {
  Eigen::VectorXd fit = Eigen::VectorXd::Zero(data.n());
  for (int j = 0; j < state.size(); ++j) {
    fit += std::sqrt(state.variance(j)) * rng.normal() * state.columns().col(j);
  }
  const TermValues& values = terms_of(state).values();
  draw_response(
      state, data,
      state.response_model().unweighted(fit) + terms_of(state).fit(values),
      rng);
}

// Coefficients from their posterior.
void simulate_again(State& state, bark::Data& data, Rng& rng) {
  Eigen::VectorXd fit;
  if (!bark::draw_fit(state, fit, rng)) return;
  Eigen::VectorXd residuals = state.response_model().residuals(fit);
  const Eigen::VectorXd f = state.response_model().unweighted(fit);
  TermValues values = bark::draw_terms(state, residuals, rng);
  const Eigen::VectorXd mean = f + terms_of(state).fit(values);
  state.set_terms(std::move(values), false, state.noise(), state.row_weights());
  draw_response(state, data, mean, rng);
}

}  // namespace

// A state with one copy per location and given terms, which took `turns` turns:
// its likelihood, covariance and mean; T sqrt(w) I, and the inverse of T
// applied to its columns; the shift; `draws` of gamma and b given f, one per
// column, and the largest error of the residuals that these leave.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_terms_state_cpp(
    Rcpp::List prior, const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
    const Eigen::VectorXd& weights, Rcpp::List terms, Rcpp::List values,
    std::vector<int> location, std::vector<double> varphi,
    std::vector<double> log_lambda, double noise, int turns,
    const Eigen::VectorXd& f, int draws, int seed, std::string family,
    const Eigen::VectorXd& row_weights) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data = data_with_terms(x, y, weights, family, terms);
  std::vector<bark::Slot> slots;
  for (std::size_t j = 0; j < location.size(); ++j) {
    slots.push_back({location[j], 1, {varphi.at(j)}});
  }
  State state(data, setting);
  state.assign(slots, log_lambda, std::vector<char>(x.cols(), 1), 1);
  for (int i = 0; i <= turns; ++i) {
    state.set_terms(values_from_r(values), i > 0, noise, row_weights);
  }
  const bark::Response& response = state.response_model();
  Eigen::MatrixXd map = Eigen::MatrixXd::Identity(data.n(), data.n());
  response.weigh(map);
  Eigen::MatrixXd back = map;
  for (int i = 0; i < data.n(); ++i) {
    Eigen::VectorXd column = back.col(i);
    response.terms().undo(column);
    back.col(i) = column;
  }
  Rng rng(seed);
  Eigen::MatrixXd drawn(coefficients(response.terms().values()).size(), draws);
  double error = 0;
  for (int i = 0; i < draws; ++i) {
    Eigen::VectorXd fit = f;
    response.weigh(fit);
    Eigen::VectorXd residuals = response.residuals(fit);
    const TermValues one = bark::draw_terms(state, residuals, rng);
    const std::vector<double> all = coefficients(one);
    drawn.col(i) = Eigen::Map<const Eigen::VectorXd>(all.data(), all.size());
    error = std::max(
        error,
        (residuals - weighted_rest(state, one, f)).cwiseAbs().maxCoeff());
  }
  return Rcpp::List::create(
      Rcpp::_["log_likelihood"] = state.log_likelihood(),
      Rcpp::_["covariance"] = Eigen::MatrixXd(state.covariance()),
      Rcpp::_["mean"] = Eigen::VectorXd(state.mean()), Rcpp::_["map"] = map,
      Rcpp::_["back"] = back, Rcpp::_["shift"] = response.terms().shift(),
      Rcpp::_["draws"] = drawn, Rcpp::_["error"] = error);
}

// Independent pairs: theta, terms and y from the prior, then `repeats` of a
// move: "terms", "full", "single" or "many_rows" sweeps, or a move of kernels.
// With `redraw`, y is drawn again before each of them, given draws of all
// coefficients. Statistics before and after, one column per pair.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_terms_law_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                              const Eigen::VectorXd& weights, Rcpp::List terms,
                              std::string move, int repeats, bool redraw,
                              int pairs, int seed,
                              std::string family = "gaussian") {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data = data_with_terms(x, Eigen::VectorXd::Ones(x.rows()), weights,
                                    family, terms);
  data.terms.add_slopes(x, setting.slope_scale);
  const bool many_rows = move == "many_rows";
  if (many_rows) data.many_rows = data.n();
  data.glance = bark_r::kGlance;
  bark::Sweep sweep(setting, data);
  bark::Counts counts;
  const auto apply = [&](State& state, Rng& rng) {
    if (move == "terms") return bark::terms_move(state, rng);
    if (move == "full" || many_rows) {
      return sweep.full(state, 1, false, counts, rng);
    }
    if (move == "single") return sweep.single(state, 1, false, counts, rng);
    bark_r::moves().at(move)(state, 1, rng);
  };
  Eigen::MatrixXd before(n_statistics(data), pairs), after(before);
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State state(data, setting);
    draw_theta(state, rng);
    simulate(state, data, rng);
    statistics(state, before.col(pair).data());
    for (int i = 0; i < repeats; ++i) {
      if (redraw) simulate_again(state, data, rng);
      apply(state, rng);
    }
    statistics(state, after.col(pair).data());
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}
