#include "glue/bark_from_r.hpp"

#include <stdexcept>

#include "glue/lists.hpp"

namespace bark_r {

namespace {

const std::map<std::string, bark::ScaleType> kScaleTypes{
    {"equal", bark::ScaleType::kEqual},
    {"different", bark::ScaleType::kDifferent},
    {"select_equal", bark::ScaleType::kSelectEqual},
    {"select_different", bark::ScaleType::kSelectDifferent}};

const std::map<std::string, bark::Family> kFamilies{
    {"gaussian", bark::Family::kGaussian},
    {"student", bark::Family::kStudent},
    {"probit", bark::Family::kProbit},
    {"ordered", bark::Family::kOrdered}};

}  // namespace

bark::Family family(const std::string& name) { return named(kFamilies, name); }

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
  if (list.containsElementNamed("df")) out.df = list["df"];
  if (list.containsElementNamed("centre_weights")) {
    out.centres = bark::CentrePrior(get<double>(list, "centre_weights"));
  }
  if (list.containsElementNamed("centre_sd")) {
    out.centre_sd = list["centre_sd"];
  }
  if (list.containsElementNamed("own_scales")) {
    out.own_scales = list["own_scales"];
  }
  if (list.containsElementNamed("directions")) {
    out.directions = list["directions"];
  }
  return out;
}

bark::Data data(const Rcpp::List& config, const Eigen::MatrixXd& x,
                const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
  bark::Data out{x, y, weights, family(config["family"])};
  if (config.containsElementNamed("classes")) out.classes = config["classes"];
  return out;
}

}  // namespace bark_r
