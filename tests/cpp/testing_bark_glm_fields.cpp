// Internal entries through which tests reach the fields of a multinomial logit
// model.
#include <RcppEigen.h>

#include <functional>
#include <map>
#include <string>

#include "core/bark/glm/glm_fields.hpp"
#include "glm_statistics.hpp"
#include "glue/bark_from_r.hpp"
#include "pairs.hpp"

namespace {

using namespace kernelbayes;
using bark::GlmFields;

std::vector<double> statistics(const GlmFields& fields) {
  std::vector<double> out{testing_r::squash(fields.log_likelihood())};
  for (int k = 0; k < fields.size(); ++k) {
    const std::vector<double> field = testing_r::glm_statistics(fields[k]);
    out.insert(out.end(), field.begin(), field.end());
  }
  return out;
}

std::vector<int> draw_classes(const GlmFields& fields, Rng& rng) {
  const Eigen::MatrixXd p = fields.probabilities();
  std::vector<int> out;
  for (Eigen::Index i = 0; i < p.rows(); ++i) {
    double left = rng.uniform() * p.row(i).sum();
    int k = 0;
    while (k + 1 < p.cols() && left >= p(i, k)) left -= p(i, k++);
    out.push_back(k);
  }
  return out;
}

const std::map<std::string, std::function<void(GlmFields&, Rng&)>> kMoves{
    {"field",
     [](GlmFields& fields, Rng& rng) {
       bark::Counts counts;
       const int k = static_cast<int>(rng.index(fields.size()));
       fields.sweep(k, 2, counts, rng);
     }},
    {"shift", [](GlmFields& fields, Rng& rng) { fields.shift_linear(rng); }},
    {"sweep", [](GlmFields& fields, Rng& rng) {
       bark::Counts counts;
       fields.sweep(bark::kernel_rounds(fields[0].prior()), counts, rng);
     }}};

}  // namespace

// Pairs of a draw of everything from the prior, with classes, and the state
// after `turns` of new classes, if `again`, and a move. One column per pair.
// [[Rcpp::export(rng = false)]]
Rcpp::List bark_glm_fields_pairs_cpp(Rcpp::List terms, Rcpp::List prior,
                                     const Eigen::MatrixXd& x, int count,
                                     std::string move, int turns, int pairs,
                                     int seed, bool again) {
  const bark::Prior setting = bark_r::prior(prior);
  bark::Data data = bark_r::field_data(x, Eigen::VectorXd::Ones(x.rows()),
                                       bark::family("binomial_logit"));
  data.terms = bark_r::terms(terms);
  data.terms.add_slopes(x, setting.slope_scale);
  const auto& apply = kMoves.at(move);
  testing_r::Pairs out;
  for (int pair = 0; pair < pairs; ++pair) {
    Rng rng(seed, pair);
    GlmFields fields(data, setting, {std::vector<int>(x.rows(), 0), count});
    fields.draw_prior(rng);
    fields.set_classes(draw_classes(fields, rng));
    const std::vector<double> first = statistics(fields);
    for (int turn = 0; turn < turns; ++turn) {
      if (again && turn > 0) fields.set_classes(draw_classes(fields, rng));
      apply(fields, rng);
    }
    const std::vector<double> last = statistics(fields);
    out.put(pair, pairs, first, last);
  }
  return Rcpp::List::create(Rcpp::_["before"] = out.before,
                            Rcpp::_["after"] = out.after);
}
