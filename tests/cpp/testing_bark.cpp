// Internal entries through which tests reach single states of bark.
#include <RcppEigen.h>

#include "bark_moves.hpp"
#include "core/bark/chain/sweep.hpp"
#include "core/bark/moves/candidates.hpp"
#include "core/bark/moves/variance_proposal.hpp"
#include "core/bark/moves/voigt.hpp"
#include "core/bark/state/row_parts.hpp"
#include "glue/archive.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/executor.hpp"

namespace {

using namespace kernelbayes;
using bark::State;

std::vector<bark::Slot> single_copies(const std::vector<int>& location,
                                      double varphi) {
  std::vector<bark::Slot> out;
  for (const int at : location) out.push_back({at, 1, {varphi}});
  return out;
}

// Kernels, scales and noise.
Rcpp::List state_to_r(State state) {
  ListWriter writer;
  state.transfer(writer, false);
  Rcpp::List out = writer.written();
  out["noise"] = state.noise();
  return out;
}

}  // namespace

// The sum of numbers in parts of a length, at least two of them per thread, and
// how many parts each copy of the memory saw.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_row_parts_cpp(const Eigen::VectorXd& numbers, int length,
                              int threads) {
  std::vector<int> seen(numbers.size());
  const auto f = [&](Eigen::Index first, Eigen::Index rows, int& parts) {
    seen[first] = ++parts;
    return numbers.segment(first, rows).sum();
  };
  const double sum = bark::RowParts(numbers.size(), length)
                         .add(make_executor(threads, 2), 0, 0.0, f);
  return Rcpp::List::create(Rcpp::Named("sum") = sum,
                            Rcpp::Named("seen") = seen);
}

// Voigt's function.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd bark_voigt_cpp(const Eigen::VectorXd& x,
                               const Eigen::VectorXd& y) {
  return x.binaryExpr(y, &bark::Voigt::at);
}

// Draws of the proposal for varphi, with the logarithms of their weights as
// they are proposed and as they are there.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_variance_cpp(double alpha, double eps, int copies,
                             double precision, double score, double power,
                             int n, int seed) {
  bark::Prior prior;
  prior.alpha = alpha;
  prior.eps = eps;
  Rng rng(seed);
  bark::VarianceProposal proposal(prior, copies, {precision, score}, power);
  Eigen::VectorXd varphi(n), proposed(n), there(n);
  for (int i = 0; i < n; ++i) {
    proposed[i] = proposal.propose(rng);
    varphi[i] = proposal.take(rng);
    there[i] = proposal.log_weight(varphi[i]);
  }
  return Rcpp::List::create(
      Rcpp::Named("varphi") = varphi, Rcpp::Named("proposed") = proposed,
      Rcpp::Named("there") = there,
      Rcpp::Named("log_evidence") = proposal.log_evidence());
}

// A walk through all moves from a draw of the prior; returns every state with
// the covariance and mean left by the updates.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_walk_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                         const Eigen::VectorXd& y,
                         const Eigen::VectorXd& weights, int steps,
                         double power, int seed,
                         std::string family = "gaussian", double amplitude = 1,
                         int classes = 2) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, weights, bark::family(family), classes};
  Rng rng(seed);
  State state(data, setting);
  state.set_amplitude(amplitude);
  bark::draw_prior(state, rng);
  if (data.latent()) bark::draw_latent(state, rng);
  Rcpp::List out;
  for (int i = 0; i < steps; ++i) {
    for (const auto& move : bark_r::moves()) {
      if (move.first != "noise_gibbs") move.second(state, power, rng);
    }
    Rcpp::List one = state_to_r(state);
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

// A state with one copy per location, set afresh: its likelihood, covariance
// and mean, draws of its coefficients, and its number of slots after a move,
// which is tried repeatedly from that state.
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
    bark_r::moves().at(move)(moved, 1, rng);
    sizes.push_back(moved.size());
  }
  Rcpp::List out = state_to_r(state);
  out["covariance"] = Eigen::MatrixXd(state.covariance());
  out["mean"] = Eigen::VectorXd(state.mean());
  out["coefficients"] = coefficients;
  out["sizes"] = sizes;
  return out;
}

// Sweeps of the named moves, for classes and fixed slots with one copy each.
// Returns latent responses, then cut points, one column per sweep.
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
                        bark::family(family), classes};
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
    for (const std::string& name : names)
      bark_r::moves().at(name)(state, 1, rng);
    out.col(i).head(data.n()) = state.response();
    out.col(i).tail(gaps.size()) =
        Eigen::Map<const Eigen::VectorXd>(gaps.data(), gaps.size());
  }
  return out;
}

// Repeats one move, starting from a state with one copy per location. Returns
// the number of copies at each location (rows) after each step (columns).
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
    bark_r::moves().at(move)(state, 1, rng);
    for (int j = 0; j < state.size(); ++j) {
      out(state.slot(j).location, i) = state.slot(j).copies;
    }
  }
  return out;
}

// Repeats one move, starting from a state with one copy per location and
// directions along the axes. Returns the directions, one column per step.
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
    bark_r::moves().at(move)(state, 1, rng);
    out.col(i) = Eigen::Map<const Eigen::VectorXd>(u.data(), u.size());
  }
  return out;
}

// Relocations among `size` candidates, from a draw of the prior: the resulting
// state, and what the candidates then say about kernels at their locations
// after the first slot is removed.
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
  const double left = state.left_of_response(out);
  std::vector<int> location;
  std::vector<double> precision, score;
  for (int i = 0; i < candidates.size(); ++i) {
    const auto data_say = candidates.information(state, i, out, left);
    location.push_back(candidates.location(i));
    precision.push_back(data_say.precision);
    score.push_back(data_say.score);
  }
  Rcpp::List result = state_to_r(state);
  result["candidates"] = location;
  result["precision"] = precision;
  result["score"] = score;
  result["moved"] = moved;
  return result;
}
