// Internal entries through which tests reach the truncation approximation of
// bark.
#include <RcppEigen.h>

#include <string>

#include "bark_moves.hpp"
#include "core/bark/truncated/truncated_chain.hpp"
#include "glue/bark_from_r.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using testing_r::squash;
using State = bark::TruncatedState;

using Move = bark_r::Move<State>;

// A move of one coefficient, chosen at random.
template <typename Of>
Move of_one(Of of) {
  return [of](State& state, double power, Rng& rng) {
    if (state.size() == 0) return;
    of(state, static_cast<int>(rng.index(state.size())), power, rng);
  };
}

const bark_r::Moves<State>& moves() {
  static const auto all = bark_r::with_scale_moves<State>(
      {{"birth_death",
        [](State& s, double t, Rng& r) { bark::birth_death_move(s, t, r); }},
       {"relocate",
        [](State& s, double t, Rng& r) { bark::relocate_move(s, t, r); }},
       {"local", [](State& s, double t, Rng& r) { bark::local_move(s, t, r); }},
       {"coefficient", of_one([](State& s, int j, double t, Rng& r) {
          bark::coefficient_move(s, j, t, r);
        })},
       {"walk", of_one([](State& s, int j, double t, Rng& r) {
          bark::walk_move(s, j, t, 0.7, r);
        })},
       {"sign", of_one([](State& s, int j, double t, Rng& r) {
          bark::sign_move(s, j, t, r);
        })},
       {"ellipse", [](State& s, double t,
                      Rng& r) { bark::ellipse_move(s, s.size(), t, r); }},
       {"ellipse_some",
        [](State& s, double t, Rng& r) { bark::ellipse_move(s, 2, t, r); }},
       {"noise",
        [](State& s, double t, Rng& r) { bark::noise_gibbs(s, t, r); }},
       {"latent", [](State& s, double, Rng& r) { bark::draw_latent(s, r); }},
       {"magnitude",
        [](State& s, double, Rng& r) { bark::magnitude_move(s, 0.7, r); }}});
  return all;
}

constexpr int kStatistics = 16;

void statistics(const State& state, double* out) {
  double size = 0, sign = 0, at_intercept = 0, at_first = 0;
  for (int j = 0; j < state.size(); ++j) {
    const bark::Kernel& kernel = state.kernel(j);
    const double x = std::log(std::abs(kernel.beta) / state.prior().eps);
    size += squash(x);
    sign += std::copysign(squash(x + 0.1), kernel.beta);
    at_intercept += kernel.location == 0;
    at_first += kernel.location == 1;
  }
  const auto scale = [&state](int l) {
    return state.included()[l] ? state.log_lambda()[l] : -INFINITY;
  };
  // Logarithms too, to see the law of small scales. 0 if not included.
  const auto squash_log = [](double x) {
    return x > -INFINITY ? squash(x) : 0;
  };
  const double first = scale(0), last = scale(state.data().p() - 1);
  const double values[kStatistics] = {
      double(state.size()),
      size,
      sign,
      at_intercept,
      at_first,
      double(state.n_included()),
      squash(state.total_scale()),
      squash(std::exp(first)),
      squash_log(first),
      squash_log(last),
      squash(std::log(state.noise())),
      squash(std::log(state.noise() * state.squares())),
      squash(state.residual()[0]),
      squash(state.response()[0]),
      squash(state.response()[1]),
      squash(std::log(state.response().squaredNorm()))};
  std::copy(values, values + kStatistics, out);
}

// The response given everything else, or one `power` times as precise.
Eigen::VectorXd simulate(const State& state, double power, Rng& rng) {
  Eigen::VectorXd out = state.response() - state.residual();
  for (double& value : out) {
    value += rng.normal() / std::sqrt(power * state.noise());
  }
  return out.array() / state.data().weights.array().sqrt();
}

// Replaces the data by those of a response.
void see(State& state, bark::Data& data, Eigen::VectorXd response) {
  data.y = data.latent() ? response.cwiseSign() : response;
  state.set_response(std::move(response));
}

}  // namespace

// Independent pairs: theta from the prior and y given theta, then `repeats` of
// one move. Statistics before and after, one column per pair. The likelihood is
// raised to a power, except for its factor of the noise; with power 0, y is not
// used. In a probit model the latent response is drawn, and y is its sign.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_invariance_cpp(
    Rcpp::List prior, const Eigen::MatrixXd& x, const Eigen::VectorXd& weights,
    std::string move, int repeats, int pairs, double power, int seed,
    std::string family = "gaussian", double amplitude = 1) {
  const bark::Prior setting = bark_r::prior(prior);
  const Move& apply = moves().at(move);
  bark::Data data{x, Eigen::VectorXd::Ones(x.rows()), weights,
                  bark::family(family)};
  Eigen::MatrixXd before(kStatistics, pairs), after(kStatistics, pairs);
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State state(data, setting);
    state.set_amplitude(amplitude);
    bark::draw_prior(state, rng);
    see(state, data, simulate(state, power > 0 ? power : 1, rng));
    statistics(state, before.col(pair).data());
    for (int i = 0; i < repeats; ++i) apply(state, power, rng);
    statistics(state, after.col(pair).data());
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// Independent pairs: theta from the prior and y given theta. Then alternates: y
// given theta, and theta by a sweep. Statistics before and after, one column
// per pair. Steps do not adapt.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_geweke_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                     const Eigen::VectorXd& weights, int turns,
                                     int pairs, int seed,
                                     std::string family = "gaussian") {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data{x, Eigen::VectorXd::Ones(x.rows()), weights,
                  bark::family(family)};
  Eigen::MatrixXd before(kStatistics, pairs), after(kStatistics, pairs);
  bark::TruncatedSweep sweep(setting, data.p());
  bark::Counts counts;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State state(data, setting);
    bark::draw_prior(state, rng);
    see(state, data, simulate(state, 1, rng));
    statistics(state, before.col(pair).data());
    for (int turn = 0; turn < turns; ++turn) {
      see(state, data, simulate(state, 1, rng));
      sweep.full(state, 1, false, counts, rng);
    }
    statistics(state, after.col(pair).data());
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// A walk through all moves from a draw of the prior; returns every state with
// the residual and likelihood left by the updates.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_walk_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                   const Eigen::VectorXd& y,
                                   const Eigen::VectorXd& weights, int steps,
                                   double power, int seed,
                                   std::string family = "gaussian",
                                   double amplitude = 1) {
  using Rcpp::_;
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, weights, bark::family(family)};
  Rng rng(seed);
  State state(data, setting);
  state.set_amplitude(amplitude);
  bark::draw_prior(state, rng);
  bark::draw_latent(state, rng);
  Rcpp::List out;
  for (int i = 0; i < steps; ++i) {
    for (const auto& move : moves()) move.second(state, power, rng);
    std::vector<int> location;
    std::vector<double> precision, score;
    for (int j = 0; j < state.size(); ++j) {
      location.push_back(state.kernel(j).location);
      precision.push_back(state.information(j).precision);
      score.push_back(state.information(j).score);
    }
    out.push_back(Rcpp::List::create(
        _["location"] = location, _["beta"] = state.coefficients(),
        _["precision"] = precision, _["score"] = score,
        _["log_lambda"] = state.log_lambda(),
        _["included"] =
            std::vector<int>(state.included().begin(), state.included().end()),
        _["noise"] = state.noise(), _["residual"] = state.residual(),
        _["response"] = state.response(),
        _["log_likelihood"] = state.log_likelihood()));
  }
  return out;
}

// Pairs of states at the rungs 1 and t for the same data, exchanged once, as in
// bark_exchange_cpp().
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_exchange_cpp(Rcpp::List prior,
                                       const Eigen::MatrixXd& x,
                                       std::string family, double t, int pairs,
                                       int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data{x, Eigen::VectorXd::Ones(x.rows()),
                  Eigen::VectorXd::Ones(x.rows()), bark::family(family)};
  const bark::Rung top = bark::Rung::at(1, *data.family),
                   low = bark::Rung::at(t, *data.family);
  Eigen::MatrixXd before(2 * kStatistics, pairs), after(before);
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State one(data, setting), other(data, setting);
    bark::draw_prior(one, rng);
    const Eigen::VectorXd response = simulate(one, 1, rng);
    other.set_amplitude(low.amplitude);
    Eigen::VectorXd second = response;
    do {
      bark::draw_prior(other, rng);
      if (data.latent()) second = simulate(other, 1, rng);
    } while (second.cwiseSign() != response.cwiseSign());
    see(one, data, response);
    other.set_response(second);
    statistics(one, before.col(pair).data());
    statistics(other, before.col(pair).data() + kStatistics);
    bark::exchange(one, top, other, low, rng);
    statistics(one, after.col(pair).data());
    statistics(other, after.col(pair).data() + kStatistics);
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// Draws of a coefficient about which the data say something, and their weights.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_truncated_proposal_cpp(Rcpp::List prior, double precision,
                                       double score, int draws, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::CoefficientProposal proposal(setting, {precision, score});
  Rng rng(seed);
  std::vector<double> beta, weight;
  for (int i = 0; i < draws; ++i) {
    beta.push_back(proposal.draw(rng));
    weight.push_back(proposal.log_weight(beta.back()));
  }
  return Rcpp::List::create(Rcpp::_["beta"] = beta,
                            Rcpp::_["log_weight"] = weight);
}
