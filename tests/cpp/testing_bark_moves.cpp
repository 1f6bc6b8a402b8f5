// The moves of bark's chains by name, for tests.
#include "bark_moves.hpp"

#include <RcppEigen.h>

#include "core/bark/chain/sweep.hpp"
#include "core/bark/coefficients/backfit.hpp"
#include "core/bark/moves/candidates.hpp"
#include "glue/bark_from_r.hpp"

namespace {

using namespace kernelbayes;
using bark::State;

// Relocates slots several times among all locations, or some of them.
void gather(State& state, int size, double power, Rng& rng) {
  const int m = state.size();
  if (state.prior().shaped()) size = m + 4;  // others are drawn from the prior
  if (m == 0 || m >= size) return;
  bark::Candidates candidates(state, size, rng);
  for (int i = 0; i < 3; ++i) {
    candidates.relocate(state, static_cast<int>(rng.index(m)), power, rng);
  }
}

using bark::OpenState;
using bark_r::OpenMove;

// The moves of scales, with the coefficients kept or carried along.
void scale_moves(OpenState& state, Rng& rng) {
  bark::scale_all_move(state, 1, 0.8, rng);
  bark::scale_any_move(state, 1, 1.2, rng);
  bark::scale_refresh_move(state, 1, rng);
  bark::scale_pair_move(state, 1, rng);
}

void flip_moves(OpenState& state, Rng& rng) {
  bark::flip_move(state, 1, rng);
  bark::swap_move(state, 1, rng);
}

OpenMove held(OpenMove move) {
  return [move](OpenState& state, Rng& rng) {
    state.hold(rng);
    move(state, rng);
    state.release();
  };
}

// Three times, between a draw of the coefficients and their return.
bark_r::Move<State> opened(OpenMove move) {
  return [move](State& state, double, Rng& rng) {
    if (!state.data().latent() || !state.prior().collapsed()) return;
    OpenState open(state, class_intervals(state), rng);
    if (!open.ok()) return;
    for (int i = 0; i < 3; ++i) move(open, rng);
    open.give(state, rng);
  };
}

using bark::Backfit;

// Three times given the coefficients of the other kernels. Nothing without own
// scales.
bark_r::Move<State> backfitted(
    const std::function<void(Backfit&, Rng&)>& move) {
  return [move](State& state, double, Rng& rng) {
    if (!state.prior().own_scales) return;
    Backfit fit(state, rng);
    if (!fit.ok()) return;
    for (int i = 0; i < 3; ++i) move(fit, rng);
    fit.give(state);
  };
}

void backfit_scales(Backfit& fit, Rng& rng) {
  bark::scale_all_move(fit, 1, 0.8, rng);
  bark::scale_any_move(fit, 1, 1.2, rng);
  bark::scale_refresh_move(fit, 1, rng);
  bark::scale_pair_move(fit, 1, rng);
}

void backfit_flips(Backfit& fit, Rng& rng) {
  bark::flip_move(fit, 1, rng);
  bark::swap_move(fit, 1, rng);
}

bark_r::Moves<State> with_open_moves(bark_r::Moves<State> moves) {
  for (const auto& move : bark_r::open_moves()) {
    moves[move.first] = opened(move.second);
  }
  moves["backfit_birth_death"] = backfitted(
      [](Backfit& fit, Rng& rng) { bark::birth_death_move(fit, rng); });
  moves["backfit_relocate"] =
      backfitted([](Backfit& fit, Rng& rng) { bark::relocate_move(fit, rng); });
  moves["backfit_local"] =
      backfitted([](Backfit& fit, Rng& rng) { bark::local_move(fit, rng); });
  moves["backfit_scales"] = backfitted(backfit_scales);
  moves["backfit_flips"] = backfitted(backfit_flips);
  return moves;
}

}  // namespace

namespace bark_r {

const std::map<std::string, OpenMove>& open_moves() {
  static const std::map<std::string, OpenMove> all = {
      {"open_none", [](OpenState&, Rng&) {}},
      {"open_coefficient",
       [](OpenState& s, Rng& r) { bark::coefficient_move(s, r); }},
      {"open_birth_death",
       [](OpenState& s, Rng& r) { bark::birth_death_move(s, r); }},
      {"open_relocate",
       [](OpenState& s, Rng& r) { bark::relocate_move(s, r); }},
      {"open_local", [](OpenState& s, Rng& r) { bark::local_move(s, r); }},
      {"open_scales", scale_moves},
      {"open_flips", flip_moves},
      {"open_trajectory", [](OpenState& s, Rng& r) { s.follow(0.3, 5, r); }},
      {"open_carried_scales", held(scale_moves)},
      {"open_carried_flips", held(flip_moves)},
      {"open_ellipse", held([](OpenState& s, Rng& r) { s.ellipse(r); })}};
  return all;
}

const Moves<State>& moves() {
  static const Moves<State> all =
      with_open_moves(with_scale_moves<State>({{"birth_death",
                                                [](State& s, double t, Rng& r) {
                                                  bark::birth_death_move(s, t,
                                                                         r);
                                                }},
                                               {"relocate",
                                                [](State& s, double t, Rng& r) {
                                                  bark::relocate_move(s, t, r);
                                                }},
                                               {"local",
                                                [](State& s, double t, Rng& r) {
                                                  bark::local_move(s, t, r);
                                                }},
                                               {"copies", bark::copies_move},
                                               {"rescale", bark::rescale_move},
                                               {"varphi",
                                                [](State& s, double t, Rng& r) {
                                                  bark::varphi_move(s, t, 1.5,
                                                                    r);
                                                }},
                                               {"scale_any",
                                                [](State& s, double t, Rng& r) {
                                                  bark::scale_any_move(s, t,
                                                                       1.2, r);
                                                }},
                                               {"gather",
                                                [](State& s, double t, Rng& r) {
                                                  gather(s, 1000, t, r);
                                                }},
                                               {"gather_some",
                                                [](State& s, double t, Rng& r) {
                                                  gather(s, s.data().n() / 2, t,
                                                         r);
                                                }},
                                               {"noise",
                                                [](State& s, double t, Rng& r) {
                                                  bark::noise_move(s, t, 0.7,
                                                                   r);
                                                }},
                                               {"noise_gibbs",
                                                [](State& s, double, Rng& r) {
                                                  bark::noise_gibbs(s, r);
                                                }},
                                               {"latent",
                                                [](State& s, double, Rng& r) {
                                                  bark::latent_move(s, r);
                                                }},
                                               {"latent_scale",
                                                [](State& s, double, Rng& r) {
                                                  bark::latent_scale_move(s, r);
                                                }},
                                               {"magnitude",
                                                [](State& s, double, Rng& r) {
                                                  bark::magnitude_move(s, 0.7,
                                                                       r);
                                                }},
                                               {"latent_given_coefficients",
                                                [](State& s, double, Rng& r) {
                                                  bark::
                                                      latent_given_coefficients(
                                                          s, r);
                                                }},
                                               {"row_weights",
                                                [](State& s, double, Rng& r) {
                                                  bark::row_weights_move(s, r);
                                                }},
                                               {"cuts",
                                                [](State& s, double, Rng& r) {
                                                  bark::cuts_move(
                                                      s,
                                                      std::vector<double>(
                                                          s.log_gaps().size(),
                                                          0.7),
                                                      r);
                                                }},
                                               {"rotate",
                                                [](State& s, double t, Rng& r) {
                                                  const int d =
                                                      s.prior().directions;
                                                  if (d > 0)
                                                    bark::rotate_move(
                                                        s,
                                                        static_cast<int>(
                                                            r.index(d)),
                                                        t, 0.8, r);
                                                }},
                                               {"redirect",
                                                bark::redirect_move},
                                               {"pool",
                                                [](State& s, double, Rng& r) {
                                                  bark::pool_move(s, r);
                                                }},
                                               {"pool_shift",
                                                [](State& s, double t, Rng& r) {
                                                  bark::pool_shift_move(s, t,
                                                                        0.8, r);
                                                }},
                                               {"pool_stretch",
                                                [](State& s, double t, Rng& r) {
                                                  bark::pool_stretch_move(
                                                      s, t, 0.8, r);
                                                }},
                                               {"cluster", bark::cluster_move},
                                               {"cluster_leave",
                                                [](State& s, double t, Rng& r) {
                                                  bark::leave_move(s, t, 0.8,
                                                                   r);
                                                }},
                                               {"concentration",
                                                [](State& s, double, Rng& r) {
                                                  bark::concentration_move(s,
                                                                           r);
                                                }},
                                               {"none",
                                                [](State&, double, Rng&) {}}}));
  return all;
}

}  // namespace bark_r

// The names of the moves with coefficients integrated out.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> bark_moves_cpp() {
  std::vector<std::string> out;
  for (const auto& move : bark_r::moves()) {
    if (bark_r::open_moves().count(move.first) == 0) out.push_back(move.first);
  }
  return out;
}

// Of those with coefficients in the state.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> bark_open_moves_cpp() {
  std::vector<std::string> out;
  for (const auto& move : bark_r::open_moves()) out.push_back(move.first);
  return out;
}

// An OpenState from a draw of the prior: trajectories of `steps` steps of
// length `step`; their probabilities of acceptance.
// [[Rcpp::export(rng = false)]]
std::vector<double> bark_open_trajectory_cpp(Rcpp::List prior,
                                             const Eigen::MatrixXd& x,
                                             const Eigen::VectorXd& y,
                                             double step, int steps, int trials,
                                             std::string family, int classes,
                                             double amplitude, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data{x, y, Eigen::VectorXd::Ones(x.rows()),
                        bark::family(family), classes};
  std::vector<double> out;
  for (int i = 0; i < trials; ++i) {
    Rng rng(seed, i);
    State state(data, setting);
    state.set_amplitude(amplitude);
    bark::draw_prior(state, rng);
    bark::draw_latent(state, rng);
    OpenState open(state, class_intervals(state), rng);
    if (open.size() == 0) continue;
    out.push_back(open.follow(step, steps, rng).probability);
  }
  return out;
}

// Kernels from the prior, an amplitude with which the classes say nothing about
// them, 30 times one of the moves above: copies at each location before and
// after, a column per trial.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_open_places_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                std::string move, int trials, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x.rows());
  const bark::Data data{x, ones, ones, bark::family("probit")};
  const auto& apply = bark_r::open_moves().at(move);
  Eigen::MatrixXd before = Eigen::MatrixXd::Zero(x.rows() + 1, trials);
  Eigen::MatrixXd after = before;
  for (int i = 0; i < trials; ++i) {
    Rng rng(seed, i);
    State state(data, setting);
    state.set_amplitude(1e-12);
    bark::draw_prior(state, rng);
    bark::draw_latent(state, rng);
    OpenState open(state, class_intervals(state), rng);
    for (int j = 0; j < open.size(); ++j) {
      before(open.slot(j).location, i) += open.slot(j).copies;
    }
    for (int k = 0; k < 30; ++k) apply(open, rng);
    for (int j = 0; j < open.size(); ++j) {
      after(open.slot(j).location, i) += open.slot(j).copies;
    }
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// Rows of lower, upper, log probability, its derivative, minus the second one.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd bark_intervals_cpp(const Eigen::VectorXd& lower,
                                   const Eigen::VectorXd& upper,
                                   const Eigen::VectorXd& f) {
  Eigen::MatrixXd out(f.size(), 3);
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    const bark::Intervals one{lower.segment(i, 1), upper.segment(i, 1)};
    const auto at = one.derivatives(f.segment(i, 1));
    out.row(i) << one.log_likelihood(f.segment(i, 1)), at.first[0],
        at.minus_second[0];
  }
  return out;
}

// A walk of moves given the coefficients of the other kernels, from a draw of
// the prior: for each step coefficients, columns and residuals, and the
// information on the coefficient of a further kernel, and of the same in place
// of the first, with its column; and glimpses of the first, in both forms, and
// of the one in its place, with the rows they look at.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_backfit_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                            const Eigen::VectorXd& y,
                            const Eigen::VectorXd& weights, int steps,
                            int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data{x, y, weights};
  data.glance = bark_r::kGlance;
  Rng rng(seed);
  State state(data, setting);
  bark::draw_prior(state, rng);
  Backfit fit(state, rng);
  Rcpp::List out;
  const auto numbers = [](const bark::Information& one) {
    return Rcpp::NumericVector::create(one.precision, one.score);
  };
  for (int i = 0; i < steps; ++i) {
    bark::birth_death_move(fit, rng);
    bark::relocate_move(fit, rng);
    bark::local_move(fit, rng);
    backfit_scales(fit, rng);
    backfit_flips(fit, rng);
    if (fit.size() == 0) continue;
    std::vector<double> beta;
    for (int j = 0; j < fit.size(); ++j) beta.push_back(fit.beta(j));
    const bark::Place place = draw_place(setting, data, state.pool(), rng);
    const Backfit::Candidate column = fit.make_column(place);
    const Backfit::Candidate instead = fit.make_column(place, 0);
    out.push_back(Rcpp::List::create(
        Rcpp::_["beta"] = beta,
        Rcpp::_["columns"] = Eigen::MatrixXd(fit.columns()),
        Rcpp::_["residuals"] = fit.residuals(),
        Rcpp::_["noise"] = state.noise(), Rcpp::_["candidate"] = column.values,
        Rcpp::_["first"] = numbers(fit.information(0)),
        Rcpp::_["more"] = numbers(fit.information(column)),
        Rcpp::_["instead"] = numbers(fit.information(instead)),
        Rcpp::_["replaced"] = numbers(fit.replaced(instead)),
        Rcpp::_["glimpses"] = Rcpp::NumericVector::create(
            fit.glimpse(0), fit.glimpse(fit.place(0), 0),
            fit.glimpse(place, 0)),
        Rcpp::_["stretches"] = fit.stretches()));
  }
  return out;
}
