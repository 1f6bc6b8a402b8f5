// Internal entries through which tests reach the sampler of noise that varies.
#include <RcppEigen.h>

#include <cmath>
#include <string>

#include "core/bark/varying_level.hpp"
#include "core/bark/varying_likelihood.hpp"
#include "glue/bark_from_r.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;

bark::Varying varying(const Rcpp::List& list) {
  return {bark_r::prior(list["prior"]), list["mean"], list["sd"]};
}

void add_statistics(const bark::GlmState& state, std::vector<double>& out) {
  double varphi = 0, beta = 0, scale = 0;
  for (int j = 0; j < state.size(); ++j) {
    varphi += testing_r::squash(std::log(state.slot(j).varphi[0]));
    beta += testing_r::squash(state.beta(j));
    const auto& shape = state.slot(j).shape;
    for (std::size_t l = 0; shape && l < shape->included.size(); ++l) {
      if (shape->included[l]) scale += testing_r::squash(shape->log_lambda[l]);
    }
  }
  out.insert(out.end(), {double(state.size()), varphi, beta, scale,
                         testing_r::squash(state.fit()[0]),
                         testing_r::squash(state.fit()[3])});
  for (const double v : state.terms().gamma) {
    out.push_back(testing_r::squash(v));
  }
}

std::vector<double> statistics(const bark::VaryingState& state) {
  std::vector<double> out;
  add_statistics(state.mean(), out);
  add_statistics(state.noise(), out);
  out.push_back(testing_r::squash(state.log_likelihood()));
  return out;
}

}  // namespace

// Pairs of a draw of everything from the prior, with responses, and the state
// after `turns` of new responses and a sweep. One column per pair.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_varying_pairs_cpp(Rcpp::List config, Rcpp::List prior,
                                  const Eigen::MatrixXd& x,
                                  const Eigen::VectorXd& weights, int turns,
                                  int pairs, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Varying noise = varying(config["varying"]);
  const Eigen::VectorXd y = Eigen::VectorXd::Zero(x.rows());
  Eigen::MatrixXd before, after;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    const bark::Data data = bark_r::data(config, x, y, weights);
    bark::VaryingState state(data, setting, noise);
    state.draw_prior(rng);
    state.set_response(state.simulate(rng));
    const std::vector<double> first = statistics(state);
    for (int turn = 0; turn < turns; ++turn) {
      if (turn > 0) state.set_response(state.simulate(rng));
      bark::Counts counts;
      state.sweep(counts, rng);
    }
    const std::vector<double> last = statistics(state);
    if (pair == 0) {
      before.resize(first.size(), pairs);
      after.resize(first.size(), pairs);
    }
    before.col(pair) = Eigen::VectorXd::Map(first.data(), first.size());
    after.col(pair) = Eigen::VectorXd::Map(last.data(), last.size());
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// log p(y | f) of one row with this weight and its derivatives, one row per f:
// of the mean, or of the log variance.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd bark_varying_rows_cpp(bool noise, const Eigen::VectorXd& y,
                                      const Eigen::VectorXd& f,
                                      const Eigen::VectorXd& weights) {
  Eigen::MatrixXd out(f.size(), 3);
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    bark::Data data;
    data.family =
        noise ? bark::Family::kLogVariance : bark::Family::kKnownVariance;
    data.y = y.segment(i, 1);
    data.weights = weights.segment(i, 1);
    const auto at = bark::make_likelihood(data)->derivatives(f.segment(i, 1));
    out.row(i) << at.log_likelihood, at.first[0], at.minus_second[0];
  }
  return out;
}
