// Internal entries through which tests reach the fields of bark.
#include <RcppEigen.h>

#include <functional>
#include <map>
#include <string>

#include "core/bark/fields/fields.hpp"
#include "core/bark/fields/fields_chain.hpp"
#include "glue/bark_from_r.hpp"
#include "squash.hpp"

namespace {

using namespace kernelbayes;
using bark::Fields;
using bark::FieldsChain;
using bark::State;
using testing_r::squash;

// Per field.
constexpr int kStatistics = 7;

void statistics(const Fields& fields, double* out) {
  for (int k = 0; k < fields.size(); ++k) {
    const State& state = fields[k];
    double varphi = 0;
    for (int j = 0; j < state.size(); ++j) {
      for (const double v : state.slot(j).varphi) varphi += squash(std::log(v));
    }
    const double values[kStatistics] = {
        double(state.copies()),
        varphi,
        squash(state.total_scale()),
        squash(state.log_likelihood()),
        squash(state.response()[0]),
        squash(state.response()[1]),
        squash(std::log(state.response().squaredNorm()))};
    out = std::copy(values, values + kStatistics, out);
  }
}

Eigen::VectorXd with_noise(Eigen::VectorXd f, Rng& rng) {
  for (double& value : f) value += rng.normal();
  return f;
}

// Responses given kernels, coefficients from their prior or from their
// posterior.
Eigen::MatrixXd simulate(const Fields& fields, bool again, Rng& rng) {
  Eigen::MatrixXd out(fields.n(), fields.size());
  for (int k = 0; k < fields.size(); ++k) {
    const State& state = fields[k];
    const State::Factor factor = again ? state.factor() : state.prior_factor();
    out.col(k) = with_noise(
        state.columns() * State::draw_coefficients(factor, rng), rng);
  }
  return out;
}

// Sets the classes to those of the responses, and gives these to the fields.
void see(Fields& fields, bark::Classes& classes, const Eigen::MatrixXd& z) {
  for (int i = 0; i < fields.n(); ++i) z.row(i).maxCoeff(&classes.of_row[i]);
  fields.set_responses(z);
}

using Move = std::function<void(FieldsChain&, bark::Classes&, Rng&)>;

const std::map<std::string, Move>& moves() {
  using Chain = FieldsChain;
  using bark::Classes;
  const auto sweep = [](Chain& l, bool full, Rng& r) {
    bark::Counts counts;
    l.sweep(full, 1, false, counts, r);
  };
  const auto magnitude = [](Fields& fields, std::vector<int> which, Rng& r) {
    bark::Magnitudes magnitudes(fields, r);
    for (const int k : which) magnitudes.move(k, 0.7, r);
    magnitudes.finish(fields, r);
  };
  static const std::map<std::string, Move> all = {
      {"latent", [](Chain& l, Classes&, Rng& r) { latent_move(l.state(), r); }},
      {"latent_scale",
       [](Chain& l, Classes&, Rng& r) { latent_scale_move(l.state(), r); }},
      {"latent_shift",
       [](Chain& l, Classes&, Rng& r) { latent_shift_move(l.state(), r); }},
      {"magnitude",
       [magnitude](Chain& l, Classes&, Rng& r) {
         magnitude(l.state(), {static_cast<int>(r.index(3))}, r);
       }},
      {"magnitude_all",
       [magnitude](Chain& l, Classes&, Rng& r) {
         magnitude(l.state(), {-1, 0, 2, -1, 1, 0, -1, 2}, r);
       }},
      {"sweep", [sweep](Chain& l, Classes&, Rng& r) { sweep(l, true, r); }},
      {"single", [sweep](Chain& l, Classes&, Rng& r) { sweep(l, false, r); }},
      // Geweke's test alternates: data given parameters, then a sweep.
      {"geweke", [sweep](Chain& l, Classes& c, Rng& r) {
         see(l.state(), c, simulate(l.state(), true, r));
         sweep(l, true, r);
       }}};
  return all;
}

}  // namespace

// Independent pairs: theta from the prior, responses given theta, the classes
// of these responses, then `repeats` of one move. Statistics of each field
// before and after, one column per pair; and whether the largest response
// always belonged to the class.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fields_invariance_cpp(Rcpp::List prior,
                                      const Eigen::MatrixXd& x, int count,
                                      std::string move, int repeats, int pairs,
                                      double amplitude, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data = bark_r::field_data(x);
  const Move& apply = moves().at(move);
  Eigen::MatrixXd before(count * kStatistics, pairs), after(before);
  bool consistent = true;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    bark::Classes classes{std::vector<int>(x.rows(), 0), count};
    FieldsChain chain(data, setting, classes, {1, amplitude});
    chain.draw_prior(rng);
    see(chain.state(), classes, simulate(chain.state(), false, rng));
    statistics(chain.state(), before.col(pair).data());
    for (int i = 0; i < repeats; ++i) apply(chain, classes, rng);
    statistics(chain.state(), after.col(pair).data());
    for (int i = 0; i < data.n(); ++i) {
      const double own = chain.state()[classes.of_row[i]].response()[i];
      for (int k = 0; k < count; ++k) {
        consistent = consistent && chain.state()[k].response()[i] <= own;
      }
    }
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after,
                            Rcpp::_["consistent"] = consistent);
}

// Pairs of levels at the amplitudes 1 and t with the same classes, exchanged
// once: the second is drawn until its classes agree with the first.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fields_exchange_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                    int count, double t, int pairs, int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data = bark_r::field_data(x);
  const int rows = count * kStatistics;
  Eigen::MatrixXd before(2 * rows, pairs), after(before);
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    bark::Classes classes{std::vector<int>(x.rows(), 0), count}, second;
    FieldsChain one(data, setting, classes, {1, 1}),
        other(data, setting, classes, {1, t});
    one.draw_prior(rng);
    see(one.state(), classes, simulate(one.state(), false, rng));
    second = classes;
    do {
      other.draw_prior(rng);
      see(other.state(), second, simulate(other.state(), false, rng));
    } while (second.of_row != classes.of_row);
    statistics(one.state(), before.col(pair).data());
    statistics(other.state(), before.col(pair).data() + rows);
    bark::exchange(one.state(), {1, 1}, other.state(), {1, t}, rng);
    statistics(one.state(), after.col(pair).data());
    statistics(other.state(), after.col(pair).data() + rows);
  }
  return Rcpp::List::create(Rcpp::_["before"] = before,
                            Rcpp::_["after"] = after);
}

// Latent responses of two or more fields with fixed slots, one copy each at
// `location` in all fields: rows x fields for each sweep of the named moves.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_fields_latent_cpp(Rcpp::List prior, const Eigen::MatrixXd& x,
                                  const std::vector<int>& labels, int count,
                                  std::vector<int> location,
                                  const Eigen::MatrixXd& varphi,
                                  std::vector<double> log_lambda,
                                  std::vector<std::string> names, int sweeps,
                                  int seed) {
  const bark::Prior setting = bark_r::prior(prior);
  const bark::Data data = bark_r::field_data(x);
  bark::Classes classes = bark_r::classes(labels, count);
  FieldsChain chain(data, setting, classes, {1, 1});
  for (int k = 0; k < count; ++k) {
    std::vector<bark::Slot> slots;
    for (std::size_t j = 0; j < location.size(); ++j) {
      slots.push_back({location[j], 1, {varphi(j, k)}});
    }
    chain.state()[k].assign(slots, log_lambda, std::vector<char>(x.cols(), 1),
                            1);
  }
  Rng rng(seed);
  draw_latent(chain.state(), rng);
  Rcpp::List out;
  for (int i = 0; i < sweeps; ++i) {
    for (const std::string& name : names) {
      moves().at(name)(chain, classes, rng);
    }
    Eigen::MatrixXd z(data.n(), count);
    for (int k = 0; k < count; ++k) z.col(k) = chain.state()[k].response();
    out.push_back(z);
  }
  return out;
}
