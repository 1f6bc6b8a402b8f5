// Internal entries through which tests reach the sampler of families without a
// latent normal form.
#include <RcppEigen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "core/bark/coefficients/moves_of_one.hpp"
#include "core/bark/glm/glm_chain.hpp"
#include "core/bark/moves/moves.hpp"
#include "glm_statistics.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/lists.hpp"
#include "pairs.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using bark::GlmState;

void scales(GlmState& state, Rng& rng) {
  bark::scale_all_move(state, 1, 0.8, rng);
  bark::scale_any_move(state, 1, 1.2, rng);
  bark::scale_refresh_move(state, 1, rng);
  bark::scale_pair_move(state, 1, rng);
}

void flips(GlmState& state, Rng& rng) {
  bark::flip_move(state, 1, rng);
  bark::swap_move(state, 1, rng);
}

void pool(GlmState& state, Rng& rng) {
  bark::Counts counts;
  bark::move_pool(state, 1, counts, rng);
}

void sweep(GlmState& state, Rng& rng) {
  bark::Counts counts;
  bark::glm_sweep(state, 3, counts, rng);
}

const std::map<std::string, std::function<void(GlmState&, Rng&)>> kMoves{
    {"birth_death", [](GlmState& s, Rng& r) { bark::birth_death_move(s, r); }},
    {"relocate", [](GlmState& s, Rng& r) { bark::relocate_move(s, r); }},
    {"local", [](GlmState& s, Rng& r) { bark::local_move(s, r); }},
    {"coefficients", [](GlmState& s, Rng& r) { s.move_coefficients(r); }},
    {"slopes", [](GlmState& s, Rng& r) { s.move_slopes(r); }},
    {"groups", [](GlmState& s, Rng& r) { s.move_groups(r); }},
    {"parameters", [](GlmState& s, Rng& r) { s.move_parameters(r); }},
    {"scales", scales},
    {"flips", flips},
    {"pool", pool},
    {"sweep", sweep}};

std::vector<double> statistics(const GlmState& state) {
  std::vector<double> out = testing_r::glm_statistics(state);
  out.push_back(testing_r::squash(state.log_likelihood()));
  return out;
}

// How far f and its likelihood are from those computed anew.
double staleness(GlmState& state) {
  const Eigen::VectorXd f = state.fit();
  const double log_likelihood = state.log_likelihood();
  state.compute();
  const double off = std::abs(log_likelihood - state.log_likelihood());
  return std::max(off, (f - state.fit()).cwiseAbs().maxCoeff());
}

bark::Data glm_data(const Rcpp::List& config, const Eigen::MatrixXd& x) {
  // A response that every family has, until others are drawn.
  bark::Data out = bark_r::data(config, x, Eigen::VectorXd::Ones(x.rows()),
                                Eigen::VectorXd::Ones(x.rows()));
  out.upper = out.y;
  return out;
}

// Sets of rows are known up to intervals: the first above a limit, the second
// below one, the third up to a cell.
Eigen::VectorXd censor(bark::Data& data, Eigen::VectorXd y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLimit = 0.3, kCell = 0.8;
  data.upper = y;
  if (!data.family->censored) return y;
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    if (i % 4 == 0 && y[i] > kLimit) {
      y[i] = kLimit;
      data.upper[i] = kInfinity;
    } else if (i % 4 == 1 && y[i] < kLimit) {
      y[i] = -kInfinity;
      data.upper[i] = kLimit;
    } else if (i % 4 == 2) {
      y[i] = kCell * std::floor(y[i] / kCell);
      data.upper[i] = y[i] + kCell;
    }
  }
  return y;
}

}  // namespace

// Pairs of a draw of everything from the prior, with responses, and the state
// after `turns` of new responses, if `again`, and a move. One column per pair;
// and how far numbers that moves update are from those computed anew.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_glm_pairs_cpp(Rcpp::List config, Rcpp::List prior,
                              const Eigen::MatrixXd& x, std::string move,
                              int turns, int pairs, int seed, bool again) {
  const bark::Prior setting = bark_r::prior(prior);
  const auto& apply = kMoves.at(move);
  testing_r::Pairs out;
  double stale = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    bark::Data data = glm_data(config, x);
    data.terms.add_slopes(x, setting.slope_scale);
    GlmState state(data, setting);
    state.draw_prior(rng);
    const auto respond = [&] {
      Eigen::VectorXd y = state.likelihood().simulate(state.fit(), rng);
      state.set_response(data, censor(data, std::move(y)));
    };
    respond();
    const std::vector<double> first = statistics(state);
    for (int turn = 0; turn < turns; ++turn) {
      if (again) respond();
      apply(state, rng);
    }
    const std::vector<double> last = statistics(state);
    out.put(pair, pairs, first, last);
    stale = std::max(stale, staleness(state));
  }
  return Rcpp::List::create(Rcpp::_["before"] = out.before,
                            Rcpp::_["after"] = out.after,
                            Rcpp::_["stale"] = stale);
}

// log p(y | f) of one row and its derivatives, one row per f.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd bark_glm_rows_cpp(Rcpp::List config, const Eigen::VectorXd& y,
                                  const Eigen::VectorXd& upper,
                                  const Eigen::VectorXd& f,
                                  std::vector<double> parameters) {
  Eigen::MatrixXd out(f.size(), 3);
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    bark::Data data;
    data.family = bark::family(config["family"]);
    data.y = y.segment(i, 1);
    if (config.containsElementNamed("classes")) {
      data.classes = config["classes"];
    }
    data.trials = Eigen::VectorXd::Constant(1, config["trials"]);
    data.upper = upper.segment(i, 1);
    bark::Prior prior;
    if (config.containsElementNamed("df")) {
      prior.df = Rcpp::as<std::vector<double>>(config["df"]);
    }
    const auto rows = data.family->likelihood(data, prior);
    rows->set_parameters(parameters);
    const auto at = rows->derivatives(f.segment(i, 1));
    out.row(i) << at.log_likelihood, at.first[0], at.minus_second[0];
  }
  return out;
}
