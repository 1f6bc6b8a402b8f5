#include "glue/bark_from_r.hpp"

#include <functional>

#include "glue/executor.hpp"
#include "glue/lists.hpp"

namespace bark_r {

namespace {

const std::map<std::string, bark::ScaleType> kScaleTypes{
    {"equal", bark::ScaleType::kEqual},
    {"different", bark::ScaleType::kDifferent},
    {"select_equal", bark::ScaleType::kSelectEqual},
    {"select_different", bark::ScaleType::kSelectDifferent}};

// Rows of `bark_options` in R/options-bark.R.
const std::map<const char*, std::function<void(bark::Prior&, SEXP)>> kOptions{
    {"df",
     [](auto& prior, SEXP v) { prior.df = Rcpp::as<std::vector<double>>(v); }},
    {"centre_weights",
     [](auto& prior, SEXP v) {
       prior.centres = bark::CentrePrior(Rcpp::as<std::vector<double>>(v));
     }},
    {"centre_sd",
     [](auto& prior, SEXP v) { prior.centre_sd = Rcpp::as<double>(v); }},
    {"concentrations",
     [](auto& prior, SEXP v) {
       prior.concentrations = Rcpp::as<std::vector<double>>(v);
     }},
    {"own_scales",
     [](auto& prior, SEXP v) { prior.own_scales = Rcpp::as<bool>(v); }},
    {"pool",
     [](auto& prior, SEXP v) {
       prior.pooled = true;
       const auto of = Rcpp::as<std::vector<double>>(v);
       prior.pool = {of.at(0), of.at(1), of.at(2), of.at(3)};
     }},
    {"groups",
     [](auto& prior, SEXP v) {
       const Rcpp::List groups(v);
       for (const SEXP group : groups) {
         prior.groups.push_back(
             indices_from_r(group, "groups of the prior",
                            static_cast<Eigen::Index>(kMostCount)));
       }
     }},
    {"slope_scale",
     [](auto& prior, SEXP v) { prior.slope_scale = Rcpp::as<double>(v); }},
    {"directions", [](auto& prior, SEXP v) {
       prior.directions = count_from_r(v, "directions", 1, kMostCount);
     }}};

}  // namespace

bark::Prior prior(const Rcpp::List& list) {
  bark::Prior out;
  out.type = named(kScaleTypes, list["type"]);
  out.alpha = list["alpha"];
  out.eps = list["eps"];
  out.nu = list["nu"];
  out.a = list["A"];
  out.b = list["B"];
  out.ap = list["a_p"];
  out.bp = list["b_p"];
  out.noise_shape = list["noise_shape"];
  out.noise_rate = list["noise_rate"];
  if (list.containsElementNamed("noise_fixed")) {
    out.noise_fixed = list["noise_fixed"];
    if (out.noise_fixed) out.noise_precision = list["noise_precision"];
  }
  for (const auto& [name, read] : kOptions) {
    if (list.containsElementNamed(name)) read(out, list[name]);
  }
  return out;
}

bark::TermData terms(const Rcpp::List& list) {
  bark::TermData out;
  out.linear = Rcpp::as<Eigen::MatrixXd>(list["linear"]);
  out.linear_sd = Rcpp::as<Eigen::VectorXd>(list["linear_sd"]);
  if (list.containsElementNamed("linear_mean")) {
    out.linear_mean = Rcpp::as<Eigen::VectorXd>(list["linear_mean"]);
  }
  const Rcpp::List groupings = list["groupings"];
  for (const Rcpp::List grouping : groupings) {
    bark::Grouping one;
    one.count = count_from_r(grouping, "count", 1);
    one.group = indices_from_r(grouping["group"], "groups of rows", one.count);
    one.z = Rcpp::as<Eigen::MatrixXd>(grouping["z"]);
    one.scale = Rcpp::as<Eigen::VectorXd>(grouping["scale"]);
    out.groupings.push_back(std::move(one));
  }
  if (list.containsElementNamed("offset")) {
    out.offset = Rcpp::as<Eigen::VectorXd>(list["offset"]);
  }
  return out;
}

const Arithmetic& arithmetic(const Rcpp::List& config) {
  if (!config.containsElementNamed("simd")) return Arithmetic::best();
  return Arithmetic::at_most(config["simd"]);
}

bark::Data data(const Rcpp::List& config, const Eigen::MatrixXd& x,
                const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
  bark::Data out{x, y, weights, bark::family(config["family"])};
  out.arithmetic = &arithmetic(config);
  if (config.containsElementNamed("threads")) {
    // For fewer parts of rows waking a thread takes longer than its work.
    constexpr int kParts = 8;
    out.executor = make_executor(count_from_r(config, "threads", 1), kParts);
  }
  if (config.containsElementNamed("classes")) {
    out.classes = count_from_r(config, "classes", 2);
  }
  if (config.containsElementNamed("trials")) {
    out.trials = Rcpp::as<Eigen::VectorXd>(config["trials"]);
  }
  if (config.containsElementNamed("upper")) {
    out.upper = Rcpp::as<Eigen::VectorXd>(config["upper"]);
  }
  if (config.containsElementNamed("terms")) out.terms = terms(config["terms"]);
  return out;
}

// Of other sizes they would be read beyond their ends.
void check_sizes(const bark::Prior& prior, const bark::Data& data) {
  const Eigen::Index n = data.x.rows(), p = data.x.cols();
  const auto has_n = [n](const Eigen::VectorXd& v) {
    return v.size() == 0 || v.size() == n;
  };
  require(data.y.size() == n && data.weights.size() == n &&
              has_n(data.trials) && has_n(data.upper),
          "the data must have a value for each row");
  for (const std::vector<int>& group : prior.groups) {
    for (const int input : group) {
      require(input < p, "groups of the prior must be of columns of x");
    }
  }
  require(prior.directions <= p, "directions must not be more than predictors");
  const bark::TermData& terms = data.terms;
  const Eigen::Index q = terms.linear.cols();
  require(has_n(terms.offset) && terms.linear_sd.size() == q &&
              (q == 0 || terms.linear.rows() == n) &&
              (terms.linear_mean.size() == 0 || terms.linear_mean.size() == q),
          "linear terms and data disagree");
  for (const bark::Grouping& one : terms.groupings) {
    require(static_cast<Eigen::Index>(one.group.size()) == n &&
                one.count <= n && one.z.rows() == n &&
                one.scale.size() == one.z.cols(),
            "groups and data disagree");
  }
}

}  // namespace bark_r
