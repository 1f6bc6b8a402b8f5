// Internal entries through which tests reach the sampler of noise that varies.
#include <RcppEigen.h>

#include <cmath>
#include <string>

#include "core/bark/glm/varying.hpp"
#include "core/bark/moves/moves.hpp"
#include "glue/bark_from_r.hpp"
#include "pairs.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using testing_r::squash;

Eigen::VectorXd floored(const bark::VaryingState& state) {
  return state.noise().fit().cwiseMax(state.noise().data().floor);
}

// y given all else, its coefficients from their prior.
Eigen::VectorXd simulate(const bark::VaryingState& state, Rng& rng) {
  const bark::State& mean = state.mean();
  const bark::Response& response = mean.response_model();
  Eigen::VectorXd out = Eigen::VectorXd::Zero(mean.data().n());
  if (mean.size() > 0) {
    const Eigen::VectorXd beta =
        bark::State::draw_coefficients(mean.prior_factor(), rng);
    out += response.unweighted(mean.columns() * beta);
  }
  if (response.terms().any()) {
    out += response.terms().fit(response.terms().values());
  }
  const Eigen::VectorXd log_variance = floored(state);
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    const double g = log_variance[i];
    out[i] += std::exp(g / 2) * rng.normal() /
              std::sqrt(state.omega()[i] * mean.data().weights[i]);
  }
  return out;
}

template <class S>
void add_statistics(const S& state, std::vector<double>& out) {
  double varphi = 0, scale = 0, location = 0;
  for (int j = 0; j < state.size(); ++j) {
    varphi += squash(std::log(state.slot(j).varphi[0]));
    location += state.slot(j).location;
    const auto& shape = state.slot(j).shape;
    for (std::size_t l = 0; shape && l < shape->included.size(); ++l) {
      if (shape->included[l]) scale += squash(shape->log_lambda[l]);
    }
  }
  out.insert(out.end(), {double(state.size()), varphi, scale, location});
}

std::vector<double> statistics(const bark::VaryingState& state) {
  std::vector<double> out;
  add_statistics(state.mean(), out);
  add_statistics(state.noise(), out);
  out.push_back(squash(state.mean().log_likelihood()));
  out.push_back(squash(state.noise().terms().gamma[0]));
  for (const int row : {0, 1, 3, 4}) {
    out.push_back(squash(state.noise().fit()[row]));
  }
  for (const double df : state.noise().likelihood().parameters()) {
    out.push_back(squash(std::log(df)));
    for (const int row : {0, 2}) {
      out.push_back(squash(std::log(state.omega()[row])));
    }
  }
  const auto& terms = state.mean().response_model().terms().values();
  for (const double v : terms.gamma) out.push_back(squash(v));
  for (const auto& factor : terms.factors) {
    out.push_back(squash(factor.b(0, 0)));
    out.push_back(squash(std::log(factor.sigma(0, 0))));
  }
  return out;
}

}  // namespace

// Pairs of a draw of everything from the prior, with responses, and the state
// after `turns` sweeps, or only their moves of the noise. One column per pair;
// and how far log variances that the mean and the noise have are apart.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_varying_pairs_cpp(Rcpp::List config, Rcpp::List prior,
                                  const Eigen::MatrixXd& x,
                                  const Eigen::VectorXd& weights, bool whole,
                                  int turns, int pairs, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const Rcpp::List list = config["varying"];
  const bark::Varying noise{true, bark_r::prior(list["prior"]), list["mean"],
                            list["sd"], list["floor"]};
  const Eigen::VectorXd y = Eigen::VectorXd::Zero(x.rows());
  testing_r::Pairs out;
  double apart = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    const bark::Data data = bark_r::data(config, x, y, weights);
    bark::VaryingState state(data, setting, noise);
    state.draw_prior(rng);
    state.set_response(simulate(state, rng));
    const std::vector<double> first = statistics(state);
    for (int turn = 0; turn < turns; ++turn) {
      bark::Counts counts;
      if (whole) {
        state.sweep(false, false, counts, rng);
      } else {
        state.move_noise(rng);
      }
    }
    const std::vector<double> last = statistics(state);
    // The precision of the mean's rows is that of the noise.
    const Eigen::ArrayXd log_precision =
        (state.mean().noise() * state.mean().row_weights().array()).log();
    apart = std::max(apart, (log_precision + floored(state).array() -
                             state.omega().array().log())
                                .abs()
                                .maxCoeff());
    out.put(pair, pairs, first, last);
  }
  return Rcpp::List::create(Rcpp::_["before"] = out.before,
                            Rcpp::_["after"] = out.after,
                            Rcpp::_["apart"] = apart);
}
