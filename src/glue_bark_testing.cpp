// Internal entries through which tests reach the core of bark.
#include <RcppEigen.h>

#include <functional>
#include <map>
#include <string>

#include "core/bark/candidates.hpp"
#include "core/bark/sweep.hpp"
#include "glue/bark_from_r.hpp"

namespace {

using namespace kernelbayes;
using bark::State;

using Move = std::function<void(State&, double, Rng&)>;

// Of the locations, or of a part of them, for one slot several times.
void gather(State& state, int size, double power, Rng& rng) {
  const int m = state.size();
  if (state.prior().shaped()) size = m + 4;  // others are drawn from the prior
  if (m == 0 || m >= size) return;
  bark::Candidates candidates(state, size, rng);
  for (int i = 0; i < 3; ++i) {
    candidates.relocate(state, static_cast<int>(rng.index(m)), power, rng);
  }
}

const std::map<std::string, Move>& moves() {
  static const std::map<std::string, Move> all = {
      {"birth_death", bark::birth_death_move},
      {"relocate", bark::relocate_move},
      {"local", bark::local_move},
      {"copies", bark::copies_move},
      {"rescale", bark::rescale_move},
      {"scale_pair", bark::scale_pair_move<State>},
      {"flip", bark::flip_move<State>},
      {"swap", bark::swap_move<State>},
      {"varphi",
       [](State& s, double t, Rng& r) { bark::varphi_move(s, t, 1.5, r); }},
      {"scale_all",
       [](State& s, double t, Rng& r) { bark::scale_all_move(s, t, 0.8, r); }},
      {"scale_one",
       [](State& s, double t, Rng& r) {
         if (!s.prior().equal() && s.n_included() > 0) {
           bark::scale_one_move(s, choose_included(s, r), t, 1.2, r);
         }
       }},
      {"scale_refresh", bark::scale_refresh_move<State>},
      {"scale_any",
       [](State& s, double t, Rng& r) { bark::scale_any_move(s, t, 1.2, r); }},
      {"gather", [](State& s, double t, Rng& r) { gather(s, 1000, t, r); }},
      {"gather_some",
       [](State& s, double t, Rng& r) { gather(s, s.data().n() / 2, t, r); }},
      {"noise",
       [](State& s, double t, Rng& r) { bark::noise_move(s, t, 0.7, r); }},
      {"noise_gibbs",
       [](State& s, double, Rng& r) { bark::noise_gibbs(s, r); }},
      {"latent", [](State& s, double, Rng& r) { bark::latent_move(s, r); }},
      {"latent_scale",
       [](State& s, double, Rng& r) { bark::latent_scale_move(s, r); }},
      {"magnitude",
       [](State& s, double, Rng& r) { bark::magnitude_move(s, 0.7, r); }},
      {"latent_given_coefficients",
       [](State& s, double, Rng& r) { bark::latent_given_coefficients(s, r); }},
      {"row_weights",
       [](State& s, double, Rng& r) { bark::row_weights_move(s, r); }},
      {"cuts",
       [](State& s, double, Rng& r) {
         bark::cuts_move(s, std::vector<double>(s.log_gaps().size(), 0.7), r);
       }},
      {"rotate",
       [](State& s, double t, Rng& r) {
         const int d = s.prior().directions;
         if (d > 0)
           bark::rotate_move(s, static_cast<int>(r.index(d)), t, 0.8, r);
       }},
      {"redirect", bark::redirect_move},
      {"none", [](State&, double, Rng&) {}}};
  return all;
}

// The real line in (-1, 1): means of heavy tails have no standard error.
double squash(double x) { return x / (1 + std::abs(x)); }

constexpr int kStatistics = 14;

// Of shapes, where the prior has any: sums over the kernels.
constexpr int kShapeStatistics = 6;

// Of directions, where the prior has any.
constexpr int kDirectionStatistics = 4;

// Of all states, those of these data, of kernels' shapes and of directions.
int n_statistics(const bark::Prior& prior, const bark::Data& data) {
  return kStatistics +
         (data.student()     ? 2
          : data.classes > 2 ? 4
                             : 0) +
         (prior.shaped() ? kShapeStatistics : 0) +
         (prior.directions > 0 ? kDirectionStatistics : 0);
}

void direction_statistics(const Eigen::MatrixXd& u, double* out) {
  const double values[kDirectionStatistics] = {
      u(0, 0), u(0, 0) * u(0, 0), u(0, 0) * u(1, 0),
      std::pow(u(u.rows() - 1, u.cols() - 1), 2)};
  std::copy(values, values + kDirectionStatistics, out);
}

void shape_statistics(const State& state, double* out) {
  std::fill(out, out + kShapeStatistics, 0.0);
  for (int j = 0; j < state.size(); ++j) {
    const bark::ShapePointer& own = state.slot(j).shape;
    if (!own) continue;
    if (!own->centre.empty()) {
      out[0] += squash(own->centre.front());
      out[1] += squash(own->centre.back() * own->centre.back());
    }
    if (own->included.empty()) continue;
    double total = 0, d = 0;
    for (std::size_t l = 0; l < own->included.size(); ++l) {
      d += own->included[l];
      total += own->included[l] ? std::exp(own->log_lambda[l]) : 0;
    }
    out[2] += d;
    out[3] += d * d;
    out[4] += squash(total);
    if (own->included[0]) out[5] += squash(own->log_lambda[0]);
  }
}

// Latent responses that are not between the cut points of their class.
int misplaced(const State& state) {
  int count = 0;
  for (Eigen::Index i = 0; i < state.response().size(); ++i) {
    const int level = state.data().level(i);
    count += !(state.cuts()[level] <= state.response()[i] &&
               state.response()[i] <= state.cuts()[level + 1]);
  }
  return count;
}

void statistics(const State& state, double* out) {
  double varphi = 0, at_intercept = 0;
  for (int j = 0; j < state.size(); ++j) {
    const bark::Slot& slot = state.slot(j);
    for (const double v : slot.varphi) varphi += squash(std::log(v));
    if (slot.location == 0) at_intercept = slot.copies;
  }
  const double total = state.total_scale();
  const auto scale = [&state](int l) {
    return state.included()[l] ? state.log_lambda()[l] : -INFINITY;
  };
  // In logarithms too: the law of small scales. 0 if not included.
  const auto squash_log = [](double x) {
    return x > -INFINITY ? squash(x) : 0;
  };
  const double first = scale(0), last = scale(state.inputs().cols() - 1);
  const double values[kStatistics] = {
      double(state.copies()),
      double(state.size()),
      varphi,
      at_intercept,
      double(state.n_included()),
      squash(total),
      squash(std::exp(first)),
      squash_log(first),
      squash_log(last),
      squash(std::log(state.noise())),
      squash(state.log_likelihood()),
      squash(state.response()[0]),
      squash(state.response()[1]),
      squash(std::log(state.response().squaredNorm()))};
  out = std::copy(values, values + kStatistics, out);
  if (state.data().student()) {
    *out++ = squash(std::log(state.row_weights()[0]));
    *out++ = squash(state.row_weights().sum());
  } else if (state.data().classes > 2) {
    *out++ = state.log_gaps().front();
    *out++ = squash(state.log_gaps().back() - state.response()[0]);
    *out++ = state.data().level(0);
    *out++ = misplaced(state);
  }
  if (state.prior().shaped()) {
    shape_statistics(state, out);
    out += kShapeStatistics;
  }
  if (state.prior().directions > 0) {
    direction_statistics(state.directions(), out);
  }
}

// All that is drawn but y.
void draw_theta(State& state, Rng& rng) {
  bark::draw_prior(state, rng);
  bark::draw_prior_cuts(state, rng);
  if (!state.data().student()) return;
  Eigen::VectorXd weights(state.data().n());
  const double shape = state.prior().df / 2;
  for (double& value : weights) value = rng.gamma(shape) / shape;
  state.set_row_weights(std::move(weights));
}

// The response, latent or not, from sqrt(w) f.
Eigen::VectorXd with_noise(const State& state, Eigen::VectorXd fit, Rng& rng) {
  for (double& value : fit) value += rng.normal() / std::sqrt(state.noise());
  if (state.data().student()) {
    fit.array() /= state.row_weights().array().sqrt();
  }
  return fit.array() / state.data().weights.array().sqrt();
}

// y of the classes in which latent responses are.
Eigen::VectorXd classes_of(const State& state, const Eigen::VectorXd& z) {
  if (!state.data().ordered()) return z.cwiseSign();
  return z.unaryExpr([&state](double value) {
    int level = 1;
    while (value > state.cuts()[level]) ++level;
    return double(level);
  });
}

// The response given all else, coefficients from their prior.
Eigen::VectorXd simulate(const State& state, Rng& rng) {
  Eigen::VectorXd fit = Eigen::VectorXd::Zero(state.data().n());
  for (int j = 0; j < state.size(); ++j) {
    fit += std::sqrt(state.variance(j)) * rng.normal() * state.columns().col(j);
  }
  return with_noise(state, std::move(fit), rng);
}

std::vector<bark::Slot> slots_of(const State& state) {
  std::vector<bark::Slot> out;
  for (int j = 0; j < state.size(); ++j) out.push_back(state.slot(j));
  return out;
}

// The same, coefficients from their posterior.
Eigen::VectorXd simulate_again(const State& state, Rng& rng) {
  Eigen::VectorXd fit = Eigen::VectorXd::Zero(state.data().n());
  if (state.size() > 0) {
    fit = state.columns() * State::draw_coefficients(state.factor(), rng);
  }
  return with_noise(state, std::move(fit), rng);
}

// The state with other data, which are those of a response.
State seeing(const State& state, bark::Data& data,
             const Eigen::VectorXd& response) {
  data.y = data.latent() ? classes_of(state, response) : response;
  State out(data, state.prior());
  if (data.latent()) out.set_log_gaps(state.log_gaps());
  if (data.student()) out.set_row_weights(state.row_weights());
  out.set_amplitude(state.amplitude());
  if (state.prior().directions > 0) out.set_directions(state.directions());
  out.assign(slots_of(state), state.log_lambda(), state.included(),
             state.noise());
  out.set_response(response);
  return out;
}

}  // namespace

// Independent pairs: theta from the prior and y given theta, then `repeats` of
// one move. Statistics before and after, a column a pair. With power 0, y is
// not used. Of a probit model the latent response is drawn, and y its sign.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_invariance_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                               const Eigen::VectorXd& weights, std::string move,
                               int repeats, int pairs, double power, int seed,
                               std::string family = "gaussian",
                               double amplitude = 1, int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  const Move& apply = moves().at(move);
  const bark::Data data{x, Eigen::VectorXd::Ones(x.rows()), weights,
                        bark_r::family(family), classes};
  Eigen::MatrixXd before(n_statistics(setting, data), pairs), after(before);
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State theta(data, setting);
    theta.set_amplitude(amplitude);
    draw_theta(theta, rng);
    bark::Data own = data;
    State state = seeing(theta, own, simulate(theta, rng));
    statistics(state, before.col(pair).data());
    for (int i = 0; i < repeats; ++i) apply(state, power, rng);
    statistics(state, after.col(pair).data());
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// Pairs of states at the rungs 1 and t of the same data, exchanged once: the
// statistics of both before and after, a column a pair. Of a probit model,
// or ordered model, whose data are few, the second is drawn until its classes
// are those of the first; of a Gaussian one t is 0, where it is a draw from the
// prior.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_exchange_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                             std::string family, double t, int pairs, int seed,
                             int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data{x, Eigen::VectorXd::Ones(x.rows()),
                  Eigen::VectorXd::Ones(x.rows()), bark_r::family(family),
                  classes};
  const bark::Rung top = bark::Rung::at(1, data.family),
                   low = bark::Rung::at(t, data.family);
  const int each = n_statistics(setting, data);
  Eigen::MatrixXd before(2 * each, pairs), after(before);
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State one(data, setting), other(data, setting);
    draw_theta(one, rng);
    const Eigen::VectorXd response = simulate(one, rng);
    one.set_response(response);
    other.set_amplitude(low.amplitude);
    Eigen::VectorXd second = response;
    do {
      draw_theta(other, rng);
      if (data.latent()) second = simulate(other, rng);
    } while (classes_of(other, second) != classes_of(one, response));
    other.set_response(second);
    statistics(one, before.col(pair).data());
    statistics(other, before.col(pair).data() + each);
    bark::exchange(one, top, other, low, rng);
    statistics(one, after.col(pair).data());
    statistics(other, after.col(pair).data() + each);
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// A walk through all moves from a draw of the prior; every state with its
// covariance and mean as the updates left them.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_walk_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                         const Eigen::VectorXd& y,
                         const Eigen::VectorXd& weights, int steps,
                         double power, int seed,
                         std::string family = "gaussian", double amplitude = 1,
                         int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, weights, bark_r::family(family), classes};
  Rng rng(seed);
  State state(data, setting);
  state.set_amplitude(amplitude);
  bark::draw_prior(state, rng);
  if (data.latent()) bark::draw_latent(state, rng);
  Rcpp::List out;
  for (int i = 0; i < steps; ++i) {
    for (const auto& move : moves()) {
      if (move.first != "noise_gibbs") move.second(state, power, rng);
    }
    Rcpp::List one = bark_r::state_to_r(state);
    one["covariance"] = Eigen::MatrixXd(state.covariance());
    one["mean"] = Eigen::VectorXd(state.mean());
    one["response"] = state.response();
    one["cuts"] = state.cuts();
    one["row_weights"] = state.row_weights();
    one["at_half"] = state.log_likelihood_at(amplitude / 2);
    out.push_back(one);
  }
  return out;
}

// A state of one copy a location, set afresh: its likelihood, covariance and
// mean, draws of its coefficients, and how many slots it has after a move,
// tried again and again from that state.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_state_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                          const Eigen::VectorXd& y,
                          const Eigen::VectorXd& weights,
                          std::vector<int> location, std::vector<double> varphi,
                          std::vector<double> log_lambda,
                          std::vector<int> included, double noise,
                          std::string move, int draws, int seed,
                          double amplitude = 1) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, weights};
  std::vector<bark::Slot> slots;
  for (std::size_t j = 0; j < location.size(); ++j) {
    slots.push_back({location[j], 1, {varphi.at(j)}});
  }
  Rng rng(seed);
  State state(data, setting);
  state.set_amplitude(amplitude);
  state.assign(slots, log_lambda, {included.begin(), included.end()}, noise);
  const State::Factor factor = state.factor();
  Eigen::MatrixXd coefficients(state.size(), draws);
  std::vector<int> sizes;
  for (int i = 0; i < draws; ++i) {
    coefficients.col(i) = State::draw_coefficients(factor, rng);
    State moved = state;
    moves().at(move)(moved, 1, rng);
    sizes.push_back(moved.size());
  }
  Rcpp::List out = bark_r::state_to_r(state);
  out["covariance"] = Eigen::MatrixXd(state.covariance());
  out["mean"] = Eigen::VectorXd(state.mean());
  out["coefficients"] = coefficients;
  out["sizes"] = sizes;
  return out;
}

// Latent responses, then the cut points, of classes, whose slots stay, one copy
// each: a column a sweep of the moves named, in turn.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd bark_latent_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                const Eigen::VectorXd& y,
                                std::vector<int> location,
                                std::vector<double> varphi,
                                std::vector<double> log_lambda,
                                std::vector<std::string> names, int sweeps,
                                int seed, std::string family = "probit",
                                int classes = 2, double amplitude = 1) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, Eigen::VectorXd::Ones(x.rows()),
                        bark_r::family(family), classes};
  std::vector<bark::Slot> slots;
  for (std::size_t j = 0; j < location.size(); ++j) {
    slots.push_back({location[j], 1, {varphi.at(j)}});
  }
  Rng rng(seed);
  State state(data, setting);
  state.set_amplitude(amplitude);
  state.assign(slots, log_lambda, std::vector<char>(x.cols(), 1), 1);
  bark::draw_latent(state, rng);
  const auto& gaps = state.log_gaps();
  Eigen::MatrixXd out(data.n() + gaps.size(), sweeps);
  for (int i = 0; i < sweeps; ++i) {
    for (const std::string& name : names) moves().at(name)(state, 1, rng);
    out.col(i).head(data.n()) = state.response();
    out.col(i).tail(gaps.size()) =
        Eigen::Map<const Eigen::VectorXd>(gaps.data(), gaps.size());
  }
  return out;
}

namespace {

std::vector<bark::Slot> single_copies(const std::vector<int>& location,
                                      double varphi) {
  std::vector<bark::Slot> out;
  for (const int at : location) out.push_back({at, 1, {varphi}});
  return out;
}

}  // namespace

// From a state of one copy a location, one move again and again: the number of
// copies at each location (a row), a column a step.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXi bark_places_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                const Eigen::VectorXd& y,
                                std::vector<int> location, double varphi,
                                double log_lambda, double noise,
                                std::string move, int steps, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, Eigen::VectorXd::Ones(x.rows())};
  Rng rng(seed);
  State state(data, setting);
  state.assign(single_copies(location, varphi),
               std::vector<double>(x.cols(), log_lambda),
               std::vector<char>(x.cols(), 1), noise);
  Eigen::MatrixXi out = Eigen::MatrixXi::Zero(x.rows() + 1, steps);
  for (int i = 0; i < steps; ++i) {
    moves().at(move)(state, 1, rng);
    for (int j = 0; j < state.size(); ++j) {
      out(state.slot(j).location, i) = state.slot(j).copies;
    }
  }
  return out;
}

// From a state of one copy a location, with directions along the axes, one move
// again and again: the directions, a column a step.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd bark_turns_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                               const Eigen::VectorXd& y,
                               std::vector<int> location, double varphi,
                               std::vector<double> log_lambda, double noise,
                               std::string move, int steps, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, Eigen::VectorXd::Ones(x.rows())};
  Rng rng(seed);
  State state(data, setting);
  state.assign(single_copies(location, varphi), log_lambda,
               std::vector<char>(log_lambda.size(), 1), noise);
  const Eigen::MatrixXd& u = state.directions();
  Eigen::MatrixXd out(u.size(), steps);
  for (int i = 0; i < steps; ++i) {
    moves().at(move)(state, 1, rng);
    out.col(i) = Eigen::Map<const Eigen::VectorXd>(u.data(), u.size());
  }
  return out;
}

// Relocations among `size` candidates, from a draw of the prior: the state they
// lead to, and what the candidates then say of kernels at their locations once
// the first slot is out.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_candidates_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                               const Eigen::VectorXd& y,
                               const Eigen::VectorXd& weights, int size,
                               int times, int seed, double amplitude) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, weights};
  Rng rng(seed);
  State state(data, setting);
  state.set_amplitude(amplitude);
  do bark::draw_prior(state, rng);
  while (state.size() == 0 || state.size() >= size);
  bark::Candidates candidates(state, size, rng);
  int moved = 0;
  for (int i = 0; i < times; ++i) {
    const int j = static_cast<int>(rng.index(state.size()));
    moved += candidates.relocate(state, j, 1, rng);
  }
  const bark::Change out = state.score_change(0, 0);
  std::vector<int> location;
  std::vector<double> precision, score;
  for (int i = 0; i < candidates.size(); ++i) {
    const auto data_say = candidates.information(state, i, out);
    location.push_back(candidates.location(i));
    precision.push_back(data_say.precision);
    score.push_back(data_say.score);
  }
  Rcpp::List result = bark_r::state_to_r(state);
  result["candidates"] = location;
  result["precision"] = precision;
  result["score"] = score;
  result["moved"] = moved;
  return result;
}

// The names of all moves.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> bark_moves_cpp() {
  std::vector<std::string> out;
  for (const auto& move : moves()) out.push_back(move.first);
  return out;
}

// Independent pairs: theta from the prior and y given theta, then turns of y
// given theta and a draw of the coefficients from their posterior, and of theta
// by a sweep. Statistics before and after, a column a pair. Steps do not adapt.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_geweke_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                           const Eigen::VectorXd& weights, int turns, int pairs,
                           int seed, std::string family = "gaussian",
                           bool single = false, int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data empty{x, Eigen::VectorXd::Ones(x.rows()), weights,
                         bark_r::family(family), classes};
  Eigen::MatrixXd before(n_statistics(setting, empty), pairs), after(before);
  bark::Sweep sweep(setting, empty);
  bark::Counts counts;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    bark::Data data = empty;
    State theta(data, setting);
    draw_theta(theta, rng);
    State state = seeing(theta, data, simulate(theta, rng));
    statistics(state, before.col(pair).data());
    for (int turn = 0; turn < turns; ++turn) {
      state = seeing(state, data, simulate_again(state, rng));
      if (single) {
        sweep.single(state, 1, false, counts, rng);
      } else {
        sweep.full(state, 1, false, counts, rng);
      }
    }
    statistics(state, after.col(pair).data());
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}
