#include "glue/bark_from_r.hpp"

#include <stdexcept>

#include "glue/lists.hpp"

namespace bark_r {

namespace {

bark::ScaleType scale_type(const std::string& name) {
  if (name == "equal") return bark::ScaleType::kEqual;
  if (name == "different") return bark::ScaleType::kDifferent;
  if (name == "select_equal") return bark::ScaleType::kSelectEqual;
  if (name == "select_different") return bark::ScaleType::kSelectDifferent;
  throw std::invalid_argument("no prior of the name '" + name + "'");
}

}  // namespace

bark::Family family(const std::string& name) {
  if (name == "gaussian") return bark::Family::kGaussian;
  if (name == "student") return bark::Family::kStudent;
  if (name == "probit") return bark::Family::kProbit;
  if (name == "ordered") return bark::Family::kOrdered;
  throw std::invalid_argument("no family of the name '" + name + "'");
}

bark::Prior prior(const Rcpp::List& list) {
  bark::Prior out;
  out.type = scale_type(list["type"]);
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
