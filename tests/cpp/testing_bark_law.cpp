// With these entries tests compare the distribution of bark's states before and
// after a move or sweep that must leave it invariant.
#include <RcppEigen.h>

#include <algorithm>
#include <set>

#include "bark_moves.hpp"
#include "core/bark/chain/sweep.hpp"
#include "glue/bark_from_r.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using bark::State;
using testing_r::squash;

constexpr int kStatistics = 14;

// For shapes, if the prior has any: sums over the kernels.
constexpr int kShapeStatistics = 7;

// For the pool, if scales are pooled.
constexpr int kPoolStatistics = 8;

// For clusters, if kernels are clustered.
constexpr int kClusterStatistics = 6;

// For directions, if the prior has any.
constexpr int kDirectionStatistics = 4;

// Sum over statistics of all states, of the kind of data, of shapes and of
// directions.
int n_statistics(const bark::Prior& prior, const bark::Data& data) {
  return kStatistics +
         (data.student()     ? 3
          : data.classes > 2 ? 4
                             : 0) +
         (prior.shaped() ? kShapeStatistics : 0) +
         (prior.pooled ? kPoolStatistics : 0) +
         (prior.clustered() ? kClusterStatistics : 0) +
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
    out[6] += state.slot(j).location == 1;
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

// Number of latent responses outside the cut points of their class.
int misplaced(const State& state) {
  int count = 0;
  for (Eigen::Index i = 0; i < state.response().size(); ++i) {
    const int level = state.data().level(i);
    count += !(state.cuts()[level] <= state.response()[i] &&
               state.response()[i] <= state.cuts()[level + 1]);
  }
  return count;
}

void pool_statistics(const State& state, double* out) {
  const bark::Pool& pool = state.pool();
  // Kernels that have the first predictor, where it is probable.
  double first = 0;
  for (int j = 0; j < state.size(); ++j) {
    const bark::ShapePointer& own = state.slot(j).shape;
    if (own && own->included[0]) first += pool.inclusion.front();
  }
  const double values[kPoolStatistics] = {
      pool.inclusion.front(),
      pool.inclusion.back(),
      squash(pool.centre.front()),
      squash(pool.centre.back()),
      squash(pool.level),
      squash(std::log(pool.spread)),
      pool.spread < 1 ? squash(pool.centre.front() - pool.level) : 0,
      first};
  std::copy(values, values + kPoolStatistics, out);
}

// Pairs of kernels in one cluster, and clusters; both where kernels differ.
void cluster_statistics(const State& state, double* out) {
  std::fill(out, out + kClusterStatistics, 0.0);
  const double log_concentration = std::log(state.pool().concentration);
  std::set<int> clusters;
  for (int j = 0; j < state.size(); ++j) {
    const bark::ShapePointer& own = state.slot(j).shape;
    if (!own || own->included.empty()) continue;
    if (clusters.insert(own->cluster).second) {
      out[2] += own->included[0] ? squash(own->log_lambda[0]) : 0;
      out[3] += std::count(own->included.begin(), own->included.end(), 1);
    }
    for (int i = 0; i < j; ++i) {
      const bark::ShapePointer& other = state.slot(i).shape;
      if (!other || other->included.empty()) continue;
      const bool together = own->cluster == other->cluster;
      const bool same = own->log_lambda == other->log_lambda &&
                        own->included == other->included;
      out[0] += together;
      out[1] += together && !same ? 1000 : 0;  // never
    }
  }
  out[4] = clusters.size();
  out[5] = log_concentration;
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
  // Logarithms too, to see the law of small scales. 0 if not included.
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
    *out++ = state.df();
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
  if (state.prior().pooled) {
    pool_statistics(state, out);
    out += kPoolStatistics;
  }
  if (state.prior().clustered()) {
    cluster_statistics(state, out);
    out += kClusterStatistics;
  }
  if (state.prior().directions > 0) {
    direction_statistics(state.directions(), out);
  }
}

// Draws everything except y.
void draw_theta(State& state, Rng& rng) {
  bark::draw_prior(state, rng);
  bark::draw_prior_cuts(state, rng);
  if (!state.data().student()) return;
  bark::draw_prior_df(state, rng);
  Eigen::VectorXd weights(state.data().n());
  const double shape = state.df() / 2;
  for (double& value : weights) value = rng.gamma(shape) / shape;
  state.set_row_weights(std::move(weights));
}

// The response, latent or not, given sqrt(w) f.
Eigen::VectorXd with_noise(const State& state, Eigen::VectorXd fit, Rng& rng) {
  for (double& value : fit) value += rng.normal() / std::sqrt(state.noise());
  if (state.data().student()) {
    fit.array() /= state.row_weights().array().sqrt();
  }
  return fit.array() / state.data().weights.array().sqrt();
}

// The classes y in which the latent responses lie.
Eigen::VectorXd classes_of(const State& state, const Eigen::VectorXd& z) {
  if (!state.data().ordered()) return z.cwiseSign();
  return z.unaryExpr([&state](double value) {
    int level = 1;
    while (value > state.cuts()[level]) ++level;
    return double(level);
  });
}

// The response given everything else, coefficients from their prior.
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

// The state with other data: those of a response.
State seeing(const State& state, bark::Data& data,
             const Eigen::VectorXd& response) {
  data.y = data.latent() ? classes_of(state, response) : response;
  State out(data, state.prior());
  if (data.latent()) out.set_log_gaps(state.log_gaps());
  if (data.student()) {
    out.set_df(state.df());
    out.set_row_weights(state.row_weights());
  }
  out.set_pool(state.pool());
  out.set_amplitude(state.amplitude());
  if (state.prior().directions > 0) out.set_directions(state.directions());
  out.assign(slots_of(state), state.log_lambda(), state.included(),
             state.noise());
  out.set_response(response);
  return out;
}

}  // namespace

// Independent pairs: theta from the prior and y given theta, then `repeats` of
// one move. Statistics before and after, one column per pair. With power 0, y
// is not used. In a probit model the latent response is drawn, and y is its
// sign.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_invariance_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                               const Eigen::VectorXd& weights, std::string move,
                               int repeats, int pairs, double power, int seed,
                               std::string family = "gaussian",
                               double amplitude = 1, int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  const auto& apply = bark_r::moves().at(move);
  bark::Data data{x, Eigen::VectorXd::Ones(x.rows()), weights,
                  bark::family(family), classes};
  data.glance = bark_r::kGlance;
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

// Pairs of states at the rungs 1 and t for the same data, exchanged once: the
// statistics of both before and after, one column per pair. In a probit or
// ordered model, with few data, the second state is drawn until its classes
// agree with the first; in a Gaussian model t is 0, where it is a draw from the
// prior.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_exchange_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                             std::string family, double t, int pairs, int seed,
                             int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data{x, Eigen::VectorXd::Ones(x.rows()),
                  Eigen::VectorXd::Ones(x.rows()), bark::family(family),
                  classes};
  const bark::Rung top = bark::Rung::at(1, *data.family),
                   low = bark::Rung::at(t, *data.family);
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

// Independent pairs: theta from the prior and y given theta. Then alternates: y
// given theta and a draw of the coefficients from their posterior, and theta by
// a sweep. Statistics before and after, one column per pair. Steps do not
// adapt.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_geweke_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                           const Eigen::VectorXd& weights, int turns, int pairs,
                           int seed, std::string family = "gaussian",
                           bool single = false, int classes = 2,
                           bool many_rows = false, double amplitude = 1) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data empty{x, Eigen::VectorXd::Ones(x.rows()), weights,
                   bark::family(family), classes};
  if (many_rows) empty.many_rows = empty.n();
  empty.glance = bark_r::kGlance;
  Eigen::MatrixXd before(n_statistics(setting, empty), pairs), after(before);
  bark::Sweep sweep(setting, empty);
  bark::Counts counts;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    bark::Data data = empty;
    State theta(data, setting);
    theta.set_amplitude(amplitude);
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
