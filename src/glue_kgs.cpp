#include <RcppEigen.h>

#include <memory>

#include "core/kgs/level.hpp"
#include "core/kgs/noisy_level.hpp"
#include "glue/kgs_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/tempered.hpp"

using namespace kernelbayes;

// features: points x rank; point: per datum, from 1; label: from 0.
kgs::Data kgs_r::data(const Rcpp::List& list) {
  kgs::Data out;
  out.features = Rcpp::as<Eigen::MatrixXd>(list["features"]);
  out.point = indices_from_r(list["point"], "points", out.features.rows());
  out.classes = count_from_r(list, "classes", 2);
  out.label = counts_from_r(list["label"], "labels", 0, out.classes - 1);
  require(out.label.size() == out.point.size(), "points and labels disagree");
  return out;
}

kgs::Noise kgs_r::noise(const Rcpp::List& list) {
  kgs::Noise out;
  const std::string kind = list["kind"];
  out.kind = kind == "fixed"   ? kgs::Noise::kFixed
             : kind == "class" ? kgs::Noise::kByClass
                               : kgs::Noise::kRate;
  if (out.kind == kgs::Noise::kFixed) {
    out.rate = list["rate"];
  } else {
    out.a = list["a"];
    out.b = list["b"];
  }
  return out;
}

namespace {

kgs::Method method(const std::string& name) {
  return named<kgs::Method>({{"circle", kgs::Method::kCircle},
                             {"hmc", kgs::Method::kHmc},
                             {"coordinate", kgs::Method::kCoordinate},
                             {"block", kgs::Method::kBlock}},
                            name);
}

kgs::Settings settings(const Rcpp::List& config) {
  kgs::Settings out;
  out.method = method(config["method"]);
  if (config.containsElementNamed("beta")) {
    out.beta = get<double>(config, "beta");
    return out;
  }
  out.noise = kgs_r::noise(config["noise"]);
  out.nugget = config["nugget"];
  out.kept = count_from_r(config, "kept");
  const Rcpp::RObject start = config["start"];
  if (!start.isNULL()) out.start = Rcpp::as<Eigen::VectorXd>(start);
  return out;
}

}  // namespace

// A ladder if there are costs `beta`, otherwise a chain; method "leapfrog" has
// data of its own, see glue_kgs_noisy.cpp.
// [[Rcpp::export(rng = false)]]
SEXP kgs_open_cpp(Rcpp::List config, Rcpp::List data,
                  Rcpp::Nullable<Rcpp::List> state) {
  const Schedule schedule = schedule_from_r(config, "beta");
  if (Rcpp::as<std::string>(config["method"]) == "leapfrog") {
    kgs::NoisyModel model = kgs_r::noisy_model(config, data);
    require(model.sites.information.size() > 0, "no sites");
    return open_tempered<kgs::NoisyLevel>(schedule, std::move(model), state);
  }
  kgs::Model model(kgs_r::data(data), settings(config));
  return schedule.ladder
             ? open_tempered<kgs::CostLevel>(schedule, std::move(model), state)
             : open_tempered<kgs::Level>(schedule, std::move(model), state);
}
