// Entries through which tests reach classes with terms beside bark's kernels,
// and kernels with groups of inputs: the law of moves and sweeps.
#include <RcppEigen.h>

#include "bark_moves.hpp"
#include "core/bark/chain/sweep.hpp"
#include "core/bark/fields/fields.hpp"
#include "core/bark/fields/fields_chain.hpp"
#include "glue/bark_from_r.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using bark::FieldsChain;
using bark::State;
using bark::TermValues;
using testing_r::squash;
using Numbers = std::vector<double>;

// Statistics of independent pairs of states, a column for each.
class Pairs {
 public:
  explicit Pairs(int count) : count_(count) {}
  void before(int pair, const Numbers& all) { set(before_, pair, all); }
  void after(int pair, const Numbers& all) { set(after_, pair, all); }
  /// `wrong`: how often something was found that must not be.
  Rcpp::List list(int wrong) const {
    return Rcpp::List::create(Rcpp::_["before"] = before_,
                              Rcpp::_["after"] = after_,
                              Rcpp::_["wrong"] = wrong);
  }

 private:
  void set(Eigen::MatrixXd& out, int pair, const Numbers& all) const {
    const Eigen::Index size = static_cast<Eigen::Index>(all.size());
    if (out.size() == 0) out.resize(size, count_);
    out.col(pair) = Eigen::Map<const Eigen::VectorXd>(all.data(), size);
  }

  int count_;
  Eigen::MatrixXd before_, after_;
};

double log_squares(const Eigen::VectorXd& z) {
  return squash(std::log(z.squaredNorm()));
}

Eigen::VectorXd with_noise(Eigen::VectorXd mean, Rng& rng) {
  for (double& value : mean) value += rng.normal();
  return mean;
}

// Terms
// -------------------------------------------------------------------------

const bark::Terms& terms_of(const State& state) {
  return state.response_model().terms();
}

// The terms with the offset.
Eigen::VectorXd all_terms(const State& state, const TermValues& values) {
  Eigen::VectorXd out = terms_of(state).fit(values);
  if (state.data().terms.offset.size() > 0) out += state.data().terms.offset;
  return out;
}

// Of kernels and of latent responses, the offset included.
void add_kernels(const State& state, Numbers& out) {
  double varphi = 0;
  for (int j = 0; j < state.size(); ++j) {
    for (const double v : state.slot(j).varphi) varphi += squash(std::log(v));
  }
  const Eigen::VectorXd& z = state.response_model().plain();
  for (const double value :
       {double(state.copies()), double(state.size()), varphi,
        squash(state.total_scale()), squash(state.log_likelihood()),
        squash(z[0]), squash(z[z.size() - 1]), log_squares(z)}) {
    out.push_back(value);
  }
}

void add_terms(const State& state, Numbers& out) {
  const TermValues& values = terms_of(state).values();
  const Eigen::VectorXd rest =
      state.response_model().plain() - all_terms(state, values);
  out.push_back(squash(rest[0]));
  out.push_back(log_squares(rest));
  for (const double value : values.gamma) out.push_back(squash(value));
  for (const TermValues::Factor& factor : values.factors) {
    const Eigen::MatrixXd& b = factor.b;
    out.push_back(squash(b(0, 0)));
    out.push_back(squash(b(b.rows() - 1, b.cols() - 1)));
    out.push_back(squash(std::log(b.squaredNorm())));
    for (Eigen::Index l = 0; l < b.rows(); ++l) {
      out.push_back(squash(std::log(factor.sigma(l, l))));
      out.push_back(squash(std::log(factor.auxiliary[l])));
    }
    if (b.rows() == 1) continue;
    out.push_back(factor.sigma(0, 1) /
                  std::sqrt(factor.sigma(0, 0) * factor.sigma(1, 1)));
  }
}

// A draw of f plus terms and offset, which are set; coefficients and terms from
// their posterior, or f only, from its prior.
Eigen::VectorXd draw_mean(State& state, bool again, Rng& rng) {
  const bark::Response& response = state.response_model();
  const State::Factor factor = again ? state.factor() : state.prior_factor();
  const Eigen::VectorXd fit =
      state.columns() * State::draw_coefficients(factor, rng);
  const Eigen::VectorXd f = response.unweighted(fit);
  if (again) {
    Eigen::VectorXd residuals = response.residuals(fit);
    state.set_terms(bark::draw_terms(state, residuals, rng), false,
                    state.noise(), {});
  }
  return f + all_terms(state, terms_of(state).values());
}

// Takes latent responses with the offset.
void set_latent(State& state, const Eigen::VectorXd& z) {
  state.set_response(z - state.response_model().shift());
}

// One field
// ---------------------------------------------------------------------

int misplaced(const State& state) {
  const Eigen::VectorXd& z = state.response_model().plain();
  int count = 0;
  for (Eigen::Index i = 0; i < z.size(); ++i) {
    const int level = state.data().level(i);
    count += !(state.cuts()[level] <= z[i] && z[i] <= state.cuts()[level + 1]);
  }
  return count;
}

Numbers class_statistics(const State& state) {
  Numbers out;
  add_kernels(state, out);
  add_terms(state, out);
  out.push_back(state.data().level(0));
  if (!state.log_gaps().empty()) {
    out.push_back(state.log_gaps().front());
    out.push_back(state.log_gaps().back());
  }
  return out;
}

// New latent responses, and the classes in which they lie.
void simulate(State& state, bark::Data& data, bool again, Rng& rng) {
  const Eigen::VectorXd z = with_noise(draw_mean(state, again, rng), rng);
  data.y = z.unaryExpr([&state](double value) {
    int chain = 1;
    while (value > state.cuts()[chain]) ++chain;
    return state.data().ordered() ? double(chain) : 2.0 * chain - 3;
  });
  set_latent(state, z);
}

// Between a draw of the terms and their release.
void fixed(State& state, const std::string& move, Rng& rng) {
  if (!bark::fix_terms(state, rng)) return;
  if (move != "nothing") bark_r::moves().at(move)(state, 1, rng);
  bark::release_terms(state, rng);
}

// Fields
// ------------------------------------------------------------------------

Numbers field_statistics(const FieldsChain& chain) {
  Numbers out;
  for (int k = 0; k < chain.state().size(); ++k) {
    add_kernels(chain.state()[k], out);
    add_terms(chain.state()[k], out);
  }
  out.push_back(chain.state().label(0) == 0);
  return out;
}

// New latent responses and their classes.
void simulate(bark::Fields& fields, bark::Classes& classes, bool again,
              Rng& rng) {
  Eigen::MatrixXd z(fields.n(), fields.size());
  for (int k = 0; k < fields.size(); ++k) {
    z.col(k) = with_noise(draw_mean(fields[k], again, rng), rng);
    set_latent(fields[k], z.col(k));
  }
  for (int i = 0; i < fields.n(); ++i) z.row(i).maxCoeff(&classes.of_row[i]);
}

int misplaced(const bark::Fields& fields) {
  int count = 0;
  for (int i = 0; i < fields.n(); ++i) {
    const double own = fields[fields.label(i)].response_model().plain()[i];
    for (int k = 0; k < fields.size(); ++k) {
      count += !(fields[k].response_model().plain()[i] <= own);
    }
  }
  return count;
}

// Between draws of the terms of all fields and their release.
void fixed(bark::Fields& fields, const std::string& move, Rng& rng) {
  for (int k = 0; k < fields.size(); ++k) bark::fix_terms(fields[k], rng);
  if (move == "latent") bark::latent_move(fields, rng);
  if (move == "latent_scale") bark::latent_scale_move(fields, rng);
  if (move == "latent_shift") bark::latent_shift_move(fields, rng);
  if (move == "magnitude") {
    bark::Magnitudes magnitudes(fields, rng);
    for (const int k : {-1, 0, 2, 1}) magnitudes.move(k, 0.7, rng);
    magnitudes.finish(fields, rng);
  }
  for (int k = 0; k < fields.size(); ++k) bark::release_terms(fields[k], rng);
}

// Groups of inputs
// --------------------------------------------------------------

bool in_group(const bark::Shape& shape, const bark::Prior& prior, int input) {
  const std::vector<int>& inputs = prior.groups[shape.group];
  return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
}

// Inputs of kernels that are not in their group.
int outside(const State& state) {
  int count = 0;
  for (int j = 0; j < state.size(); ++j) {
    const bark::ShapePointer& shape = state.slot(j).shape;
    for (int l = 0; shape && l < state.data().p(); ++l) {
      count += shape->included[l] && !in_group(*shape, state.prior(), l);
    }
  }
  return count;
}

// Of the kernels of a group: their number, those at the first rows, those
// without inputs, numbers of inputs, scales.
Numbers group_statistics(const State& state, int group) {
  Numbers out(8, 0.0);
  for (int j = 0; j < state.size(); ++j) {
    const bark::ShapePointer& shape = state.slot(j).shape;
    if (!shape || shape->group != group) continue;
    double d = 0, total = 0;
    for (const int l : state.prior().groups[group]) {
      if (!shape->included[l]) continue;
      ++d;
      total += std::exp(shape->log_lambda[l]);
      out[l == state.prior().groups[group].back() ? 7 : 6] +=
          squash(shape->log_lambda[l]);
    }
    ++out[0];
    out[1] += state.slot(j).location <= 2;
    out[2] += d == 0;
    out[3] += d;
    out[4] += d * d;
    out[5] += squash(total);
  }
  return out;
}

Numbers group_statistics(const State& state) {
  Numbers out;
  double varphi = 0, intercepts = 0;
  for (int j = 0; j < state.size(); ++j) {
    varphi += squash(std::log(state.slot(j).varphi[0]));
    intercepts += state.slot(j).location == 0;
  }
  for (const double value :
       {double(state.copies()), intercepts, varphi,
        squash(std::log(state.noise())), squash(state.log_likelihood()),
        squash(state.response()[0]), log_squares(state.response())}) {
    out.push_back(value);
  }
  for (std::size_t k = 0; k < state.prior().groups.size(); ++k) {
    const Numbers own = group_statistics(state, static_cast<int>(k));
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace

// Two classes or ordered ones: independent pairs of theta, terms, latent
// responses and their classes from the prior, then `repeats` of a move: "full"
// or "single" sweeps, or one by name: if it begins with "fixed_" between a draw
// of the terms and their release, "latent_scale" before these. With `redraw`,
// responses and classes are drawn again before each. Statistics before and
// after, one column per pair; the number of responses outside their class.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_terms_classes_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                  Rcpp::List terms, std::string family,
                                  int classes, std::string move, int repeats,
                                  bool redraw, int pairs, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x.rows());
  bark::Data data{x, ones, ones, bark::family(family), classes};
  data.terms = bark_r::terms(terms);
  data.terms.add_slopes(x, setting.slope_scale);
  bark::Sweep sweep(setting, data);
  bark::Counts counts;
  const std::string prefix = "fixed_";
  const auto apply = [&](State& state, Rng& rng) {
    if (move == "full") return sweep.full(state, 1, false, counts, rng);
    if (move == "single") return sweep.single(state, 1, false, counts, rng);
    if (move == "latent_scale") {
      bark::latent_scale_move(state, rng);
      return fixed(state, "nothing", rng);
    }
    if (move.compare(0, prefix.size(), prefix) == 0) {
      return fixed(state, move.substr(prefix.size()), rng);
    }
    bark_r::moves().at(move)(state, 1, rng);
  };
  Pairs out(pairs);
  int wrong = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State state(data, setting);
    bark::draw_prior(state, rng);
    bark::draw_prior_cuts(state, rng);
    bark::draw_prior_terms(state, rng);
    simulate(state, data, false, rng);
    out.before(pair, class_statistics(state));
    for (int i = 0; i < repeats; ++i) {
      if (redraw) simulate(state, data, true, rng);
      apply(state, rng);
    }
    out.after(pair, class_statistics(state));
    wrong += misplaced(state);
  }
  return out.list(wrong);
}

// The same for a field per class: "full" or "single" sweeps, or one move
// between draws of the terms and their release.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_terms_fields_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                 Rcpp::List terms, int count, std::string move,
                                 int repeats, bool redraw, int pairs,
                                 int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data = bark_r::field_data(x);
  data.terms = bark_r::terms(terms);
  data.terms.add_slopes(x, setting.slope_scale);
  bark::Counts counts;
  Pairs out(pairs);
  int wrong = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    bark::Classes classes{std::vector<int>(x.rows(), 0), count};
    FieldsChain chain(data, setting, classes, {1, 1});
    chain.draw_prior(rng);
    simulate(chain.state(), classes, false, rng);
    out.before(pair, field_statistics(chain));
    for (int i = 0; i < repeats; ++i) {
      if (redraw) simulate(chain.state(), classes, true, rng);
      if (move == "full" || move == "single") {
        chain.sweep(move == "full", 1, false, counts, rng);
      } else {
        fixed(chain.state(), move, rng);
      }
    }
    out.after(pair, field_statistics(chain));
    wrong += misplaced(chain.state());
  }
  return out.list(wrong);
}

// Kernels with groups of inputs: theta and responses from the prior, then
// `repeats` of a move or of "full" sweeps. Statistics before and after; the
// number of inputs of kernels that are not in their group.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_groups_law_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                               std::string family, std::string move,
                               int repeats, int pairs, double power, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x.rows());
  bark::Data data{x, ones, ones, bark::family(family)};
  bark::Sweep sweep(setting, data);
  bark::Counts counts;
  Pairs out(pairs);
  int wrong = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    State state(data, setting);
    bark::draw_prior(state, rng);
    Eigen::VectorXd y =
        state.columns() * State::draw_coefficients(state.prior_factor(), rng);
    for (double& value : y) value += rng.normal() / std::sqrt(state.noise());
    data.y = data.latent() ? Eigen::VectorXd(y.cwiseSign()) : y;
    state.set_response(std::move(y));
    out.before(pair, group_statistics(state));
    for (int i = 0; i < repeats; ++i) {
      if (move == "full") {
        sweep.full(state, power, false, counts, rng);
      } else {
        bark_r::moves().at(move)(state, power, rng);
      }
      wrong += outside(state);
    }
    out.after(pair, group_statistics(state));
  }
  return out.list(wrong);
}

// Independent draws of the inputs and scales of kernels, a column for each.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_prior_shapes_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                 int draws, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x.rows());
  const bark::Data data{x, ones, ones};
  Rng rng(seed);
  Eigen::MatrixXd included(x.cols(), draws), log_lambda(x.cols(), draws);
  for (int i = 0; i < draws; ++i) {
    bark::Place place;
    do place = bark::draw_place(setting, data, {}, rng);
    while (place.location == 0);
    for (int l = 0; l < data.p(); ++l) {
      included(l, i) = place.shape->included[l];
      log_lambda(l, i) = place.shape->log_lambda[l];
    }
  }
  return Rcpp::List::create(Rcpp::_["included"] = included,
                            Rcpp::_["log_lambda"] = log_lambda);
}
