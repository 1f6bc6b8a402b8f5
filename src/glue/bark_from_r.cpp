#include "glue/bark_from_r.hpp"

#include <stdexcept>

#include "glue/bark_shapes.hpp"
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

bark::ChainSettings chain_settings(const Rcpp::List& config) {
  bark::ChainSettings out;
  out.warmup = config["warmup"];
  out.iterations = config["iter"];
  out.thin = config["thin"];
  out.n_temps = config["n_temps"];
  out.prior_only = config["prior_only"];
  out.full = Rcpp::as<std::string>(config["sweep"]) == "full";
  out.seed = run_seed(config, "chain");
  return out;
}

bark::LadderSettings ladder_settings(const Rcpp::List& config) {
  bark::LadderSettings out;
  out.warmup = config["warmup"];
  out.iterations = config["iter"];
  out.rungs = get<double>(config, "rungs");
  out.seed = run_seed(config, "chain");
  return out;
}

Rcpp::List state_to_r(const bark::State& state) {
  using Rcpp::_;
  std::vector<int> location, copies;
  std::vector<double> varphi;
  std::vector<bark::Slot> slots;
  for (int j = 0; j < state.size(); ++j) {
    const bark::Slot& slot = state.slot(j);
    slots.push_back(slot);
    location.push_back(slot.location);
    copies.push_back(slot.copies);
    varphi.insert(varphi.end(), slot.varphi.begin(), slot.varphi.end());
  }
  Rcpp::List out = Rcpp::List::create(
      _["location"] = location, _["copies"] = copies, _["varphi"] = varphi,
      _["log_lambda"] = state.log_lambda(),
      _["included"] =
          std::vector<int>(state.included().begin(), state.included().end()),
      _["noise"] = state.noise(), _["log_likelihood"] = state.log_likelihood());
  add_shapes(out, slots);
  if (state.directions().size() > 0) out["directions"] = state.directions();
  return out;
}

}  // namespace bark_r
