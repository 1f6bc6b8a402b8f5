#include <RcppEigen.h>

#include <memory>

#include "core/kgs/chain.hpp"
#include "glue/kgs_from_r.hpp"
#include "glue/lists.hpp"
#include "glue/machine.hpp"
#include "glue/words.hpp"

using namespace kernelbayes;
using Rcpp::_;

// features: points x rank; point: of each datum, from 1; label: from 0.
kgs::Data kgs_r::data(const Rcpp::List& list) {
  kgs::Data out;
  out.features = Rcpp::as<Eigen::MatrixXd>(list["features"]);
  out.point = get<int>(list, "point");
  for (int& point : out.point) --point;
  out.label = get<int>(list, "label");
  out.classes = list["classes"];
  return out;
}

kgs::Method kgs_r::method(const std::string& name) {
  if (name == "circle") return kgs::Method::kCircle;
  if (name == "ellipse") return kgs::Method::kEllipse;
  if (name == "hmc") return kgs::Method::kHmc;
  if (name == "coordinate") return kgs::Method::kCoordinate;
  if (name == "block") return kgs::Method::kBlock;
  throw std::invalid_argument("no such method");
}

Rcpp::List kgs_r::lines_to_r(const kgs::Lines::Saved& lines) {
  return Rcpp::List::create(_["at"] = lines.at, _["width"] = lines.width,
                            _["axes"] = lines.axes, _["seen"] = lines.seen,
                            _["sum"] = lines.sum, _["squares"] = lines.squares);
}

kgs::Lines::Saved kgs_r::lines_from_r(const Rcpp::List& list) {
  kgs::Lines::Saved out;
  out.at = list["at"];
  out.width = Rcpp::as<Eigen::VectorXd>(list["width"]);
  out.axes = Rcpp::as<Eigen::MatrixXd>(list["axes"]);
  out.seen = list["seen"];
  out.sum = Rcpp::as<Eigen::VectorXd>(list["sum"]);
  out.squares = Rcpp::as<Eigen::MatrixXd>(list["squares"]);
  return out;
}

namespace {

kgs::Noise noise(const Rcpp::List& list) {
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

kgs::ChainSettings chain_settings(const Rcpp::List& config) {
  kgs::ChainSettings out;
  out.method = kgs_r::method(config["method"]);
  out.warmup = config["warmup"];
  out.iterations = config["iter"];
  out.thin = config["thin"];
  out.noise = noise(config["noise"]);
  out.nugget = config["nugget"];
  out.kept = config["kept"];
  out.seed = run_seed(config, "chain");
  const Rcpp::RObject start = config["start"];
  if (!start.isNULL()) out.start = Rcpp::as<Eigen::VectorXd>(start);
  return out;
}

Rcpp::List draws_to_r(const kgs::Draws& draws) {
  return Rcpp::List::create(_["w"] = draws.w, _["rates"] = draws.rates,
                            _["wrong"] = draws.wrong,
                            _["flipped"] = draws.flipped);
}

kgs::Chain::Saved chain_from_r(const Rcpp::List& list) {
  kgs::Chain::Saved out;
  out.time = list["time"];
  out.g = Rcpp::as<Eigen::VectorXd>(list["g"]);
  out.f = Rcpp::as<Eigen::VectorXd>(list["f"]);
  out.sides = Rcpp::as<Eigen::VectorXd>(list["sides"]);
  out.rates = get<double>(list, "rates");
  out.lines = kgs_r::lines_from_r(list["lines"]);
  out.rng = words_from_r(get<double>(list, "rng"));
  const Rcpp::List draws = list["draws"];
  out.draws = {get<double>(draws, "w"), get<double>(draws, "rates"),
               get<int>(draws, "wrong"), get<double>(draws, "flipped")};
  out.seconds = list["seconds"];
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP kgs_open_cpp(Rcpp::List config, Rcpp::List data,
                  Rcpp::Nullable<Rcpp::List> state) {
  auto chain =
      std::make_unique<kgs::Chain>(kgs_r::data(data), chain_settings(config));
  return open_machine(std::move(chain), state, chain_from_r);
}

// [[Rcpp::export(rng = false)]]
int kgs_advance_cpp(SEXP handle, int n) {
  return advance_machine<kgs::Chain>(handle, n);
}

// [[Rcpp::export(rng = false)]]
void kgs_close_cpp(SEXP handle) { close_machine<kgs::Chain>(handle); }

// [[Rcpp::export(rng = false)]]
Rcpp::List kgs_snapshot_cpp(SEXP handle) {
  const kgs::Chain::Saved saved = machine_of<kgs::Chain>(handle).save();
  return Rcpp::List::create(
      _["time"] = saved.time, _["draws"] = draws_to_r(saved.draws),
      _["g"] = saved.g, _["f"] = saved.f, _["sides"] = saved.sides,
      _["rates"] = saved.rates, _["lines"] = kgs_r::lines_to_r(saved.lines),
      _["rng"] = words_to_r(saved.rng), _["seconds"] = saved.seconds);
}
