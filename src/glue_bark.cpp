#include <cmath>

#include "core/bark/fields/fields_chain.hpp"
#include "core/bark/glm/glm_chain.hpp"
#include "core/bark/glm/glm_fields.hpp"
#include "core/bark/glm/varying.hpp"
#include "core/bark/truncated/truncated_chain.hpp"
#include "glue/bark_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/tempered.hpp"

namespace {

using namespace kernelbayes;

// The model of a chain or ladder; the rungs of a chain are `step` apart.
bark::Model model(const Rcpp::List& config, bark::Data data, double step) {
  bark::Model out;
  out.prior = bark_r::prior(config["prior"]);
  out.data = std::move(data);
  bark_r::check_sizes(out.prior, out.data);
  out.data.terms.add_slopes(out.data.x, out.prior.slope_scale);
  out.ladder = config.containsElementNamed("rungs");
  if (out.ladder) {
    out.rungs =
        bark::ladder_rungs(get<double>(config, "rungs"), *out.data.family);
    return out;
  }
  out.prior_only = config["prior_only"];
  out.full = Rcpp::as<std::string>(config["sweep"]) == "full";
  out.rungs = bark::chain_rungs(count_from_r(config, "n_temps", 1), step,
                                *out.data.family, out.prior_only);
  return out;
}

bool truncated(const Rcpp::List& prior) {
  return prior.containsElementNamed("approximation") &&
         Rcpp::as<std::string>(prior["approximation"]) == "truncation";
}

template <class Chain>
SEXP open(const Rcpp::List& config, bark::Model model,
          const Rcpp::Nullable<Rcpp::List>& state) {
  return open_tempered<bark::Level<Chain>>(schedule_from_r(config, "rungs"),
                                           std::move(model), state);
}

// Several classes: a field for each.
SEXP open_fields(const Rcpp::List& config, const Eigen::MatrixXd& x,
                 const std::vector<int>& labels, const Eigen::VectorXd& weights,
                 const Rcpp::Nullable<Rcpp::List>& state) {
  const bark::Classes classes =
      bark_r::classes(labels, count_from_r(config, "fields", 2));
  require(static_cast<Eigen::Index>(labels.size()) == x.rows(),
          "labels and rows disagree");
  // With more fields, an exchange must suit more of them.
  const double step = std::pow(bark::chain_step(*bark::family("probit")),
                               1 / std::sqrt(classes.count));
  bark::Data data =
      bark_r::field_data(x, weights, bark::family(config["family"]));
  data.arithmetic = &bark_r::arithmetic(config);
  if (config.containsElementNamed("terms")) {
    data.terms = bark_r::terms(config["terms"]);
  }
  bark::Model shared = model(config, std::move(data), step);
  shared.classes = classes;
  if (shared.data.glm()) {
    return open<bark::GlmFieldsChain>(config, std::move(shared), state);
  }
  return open<bark::FieldsChain>(config, std::move(shared), state);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP bark_open_cpp(Rcpp::List config, const Eigen::MatrixXd& x, SEXP y,
                   const Eigen::VectorXd& weights,
                   Rcpp::Nullable<Rcpp::List> state) {
  if (config.containsElementNamed("fields")) {
    return open_fields(config, x, Rcpp::as<std::vector<int>>(y), weights,
                       state);
  }
  bark::Data data =
      bark_r::data(config, x, Rcpp::as<Eigen::VectorXd>(y), weights);
  const double step = bark::chain_step(*data.family);
  bark::Model shared = model(config, std::move(data), step);
  if (config.containsElementNamed("varying")) {
    const Rcpp::List noise = config["varying"];
    shared.varying = {true, bark_r::prior(noise["prior"]), noise["mean"],
                      noise["sd"], noise["floor"]};
    return open<bark::VaryingChain>(config, std::move(shared), state);
  }
  if (shared.data.glm()) {
    return open<bark::GlmChain>(config, std::move(shared), state);
  }
  shared.truncated = truncated(config["prior"]);
  if (shared.truncated) {
    return open<bark::TruncatedChain>(config, std::move(shared), state);
  }
  return open<bark::SumChain>(config, std::move(shared), state);
}
