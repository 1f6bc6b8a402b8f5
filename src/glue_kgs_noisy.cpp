#include <RcppEigen.h>

#include "core/kgs/noisy_mode.hpp"
#include "glue/kernel_from_r.hpp"
#include "glue/kgs_from_r.hpp"
#include "glue/lists.hpp"

using namespace kernelbayes;

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd matrix(const Rcpp::List& list, const char* name) {
  return Rcpp::as<MatrixXd>(list[name]);
}

VectorXd vector(const Rcpp::List& list, const char* name) {
  return Rcpp::as<VectorXd>(list[name]);
}

kgs::LearnedKernel learned(const Rcpp::List& list, const MatrixXd& points) {
  kgs::LearnedKernel out;
  out.kernel = *learned_kernel(list["kernel"]);
  out.points = points;
  out.pivots = matrix(list, "pivots");
  out.bias = list["bias"];
  out.offset = vector(list, "offset");
  out.design = matrix(list, "design");
  require(out.offset.size() == out.design.rows() &&
              out.offset.size() == out.pivots.cols() &&
              out.points.cols() == out.pivots.cols(),
          "points and bandwidths disagree");
  kgs::find_distances(out);
  return out;
}

// Of another size they would be read beyond their ends.
void check_sizes(const kgs::NoisyModel& model) {
  const Eigen::Index m = model.labels.size();
  const Eigen::Index rows =
      model.learned ? model.learned->points.rows() : model.features.rows();
  const Eigen::Index n = model.learned ? model.learned->design.cols() : 0;
  const kgs::Proposal& at = model.proposal;
  const kgs::Sites& sites = model.sites;
  const Eigen::Index functions = model.labels.functions();
  require(rows == m, "points and labels disagree");
  require(sites.information.size() == 0 ||
              (sites.information.rows() == m &&
               sites.information.cols() == model.labels.all_functions() &&
               sites.eta.rows() == m && sites.eta.cols() == functions &&
               sites.slope.rows() == m && sites.slope.cols() == functions),
          "sites and labels disagree");
  require(at.centre.size() == n && at.slope.size() == n &&
              at.root.rows() == n && at.root.cols() == n,
          "the proposal and the bandwidths disagree");
}

}  // namespace

// config: noise, scale (learned, log_s, sd), learned (NULL, or kernel, pivots,
// bias, offset, design), sites (NULL, or information, eta, slope), proposal
// (centre, root, slope), start (log_s, sd, rate). data: points (features, if
// the kernel is given), label from 0, classes, weight.
kgs::NoisyModel kgs_r::noisy_model(const Rcpp::List& config,
                                   const Rcpp::List& data) {
  const int classes = count_from_r(data, "classes", 2);
  kgs::NoisyModel out{
      kgs::NoisyLabels(counts_from_r(data["label"], "labels", 0, classes - 1),
                       classes, vector(data, "weight")),
      kgs_r::noise(config["noise"])};
  const Rcpp::List scale = config["scale"];
  out.learns_scale = scale["learned"];
  out.log_s = scale["log_s"];
  out.log_s_sd = scale["sd"];
  const Rcpp::RObject kernel = config["learned"];
  if (kernel.isNULL()) {
    out.features = matrix(data, "points");
  } else {
    out.learned = learned(Rcpp::List(kernel), matrix(data, "points"));
  }
  const Rcpp::RObject sites = config["sites"];
  if (!sites.isNULL()) {
    const Rcpp::List list(sites);
    out.sites = {matrix(list, "information"), matrix(list, "eta"),
                 matrix(list, "slope")};
  }
  const Rcpp::List proposal = config["proposal"];
  out.proposal = {vector(proposal, "centre"), vector(proposal, "slope"),
                  matrix(proposal, "root")};
  const Rcpp::List start = config["start"];
  out.start_log_s = start["log_s"];
  out.start_sd = start["sd"];
  out.start_rate = start["rate"];
  check_sizes(out);
  return out;
}

// Sites at the mode of w, for parameters (log s, logit of the rate, h).
// [[Rcpp::export(rng = false)]]
Rcpp::List kgs_sites_cpp(Rcpp::List config, Rcpp::List data,
                         Eigen::VectorXd at) {
  const kgs::NoisyModel model = kgs_r::noisy_model(config, data);
  const kgs::Parameters parameters(model);
  require(at.size() == parameters.size(), "wrong number of parameters");
  const kgs::Span span = kgs::span_at(model, parameters.log_inverse(at));
  if (!span.ok()) throw std::invalid_argument("no features");
  const kgs::Sites sites = kgs::find_sites(
      model, span, std::exp(parameters.log_s(at)), parameters.rates(at));
  return Rcpp::List::create(Rcpp::_["information"] = sites.information,
                            Rcpp::_["eta"] = sites.eta,
                            Rcpp::_["slope"] = sites.slope);
}

// The approximate log evidence of parameters and its derivatives.
// [[Rcpp::export(rng = false)]]
Rcpp::List kgs_mode_cpp(Rcpp::List config, Rcpp::List data,
                        Eigen::VectorXd at) {
  const kgs::NoisyModel model = kgs_r::noisy_model(config, data);
  require(at.size() == kgs::Parameters(model).size(),
          "wrong number of parameters");
  require(model.sites.information.size() > 0, "no sites");
  VectorXd slope;
  const double value = kgs::approximate_evidence(model, at, slope);
  return Rcpp::List::create(Rcpp::_["value"] = value, Rcpp::_["slope"] = slope);
}

// Functions at new points for each draw, by the sd of the noise, points x draws
// x functions. w: rank x functions x draws. `outside`: is the part of the
// kernel that the features leave out noise too? If the kernel is given,
// `points` are features and `left` is that part.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector kgs_noisy_functions_cpp(
    Rcpp::Nullable<Rcpp::List> kernel, Eigen::MatrixXd points,
    Eigen::VectorXd left, Eigen::MatrixXd log_inverse, std::vector<double> w,
    Eigen::VectorXd log_s, int functions, bool outside) {
  const Eigen::Index n = points.rows(), draws = log_s.size();
  std::optional<kgs::LearnedKernel> own;
  if (kernel.isNotNull()) own = learned(Rcpp::List(kernel), points);
  const Eigen::Index rank = own ? own->pivots.rows() : points.cols();
  require(functions > 0 &&
              static_cast<Eigen::Index>(w.size()) == rank * functions * draws &&
              (!own || (log_inverse.cols() == draws &&
                        log_inverse.rows() == points.cols())) &&
              (own || left.size() == n),
          "draws and points disagree");
  Rcpp::NumericVector out(Rcpp::Dimension(n, draws, functions));
  kgs::Span span(points);
  for (Eigen::Index d = 0; d < draws; ++d) {
    const bool moved =
        d == 0 || (own && log_inverse.col(d) != log_inverse.col(d - 1));
    if (own && moved) {
      span = kgs::Span(*own, log_inverse.col(d));
      if (!span.ok()) throw std::invalid_argument("no features");
      if (outside) left = span.left_out(*own);
    }
    const double s = std::exp(log_s[d]);
    VectorXd scale = VectorXd::Constant(n, s);
    if (outside) {
      scale = s * (1 + s * s * left.array()).rsqrt();
    }
    const Eigen::Map<const MatrixXd> own_w(&w[d * rank * functions], rank,
                                           functions);
    const MatrixXd f = scale.asDiagonal() * span.times(own_w);
    for (int c = 0; c < functions; ++c) {
      Eigen::Map<VectorXd>(&out[(c * draws + d) * n], n) = f.col(c);
    }
  }
  return out;
}

// For each draw of the other parameters, log p(labels, w) minus the log density
// of the normal approximation of w, up to rounding independent of w where the
// approximation is exact, (G47). `draws`: w, or z of the approximation (as
// is_z says), rank x functions x draws.
// [[Rcpp::export(rng = false)]]
std::vector<double> kgs_noisy_ratio_cpp(Rcpp::List config, Rcpp::List data,
                                        Eigen::MatrixXd log_inverse,
                                        Eigen::VectorXd log_s,
                                        Eigen::MatrixXd rates,
                                        std::vector<double> draws, bool is_z) {
  const kgs::NoisyModel model = kgs_r::noisy_model(config, data);
  const Eigen::Index n = log_s.size(), rank = model.rank();
  const Eigen::Index functions = model.labels.functions();
  require(model.sites.information.size() > 0 &&
              static_cast<Eigen::Index>(draws.size()) == rank * functions * n &&
              rates.cols() == n && rates.rows() > 0 &&
              log_inverse.cols() == n &&
              (!model.learned ||
               log_inverse.rows() == model.learned->points.cols()),
          "draws disagree");
  std::vector<double> out(n);
  const kgs::Normals normals = model.sites.of_contrasts();
  for (Eigen::Index d = 0; d < n; ++d) {
    const kgs::Span span = kgs::span_at(model, log_inverse.col(d));
    if (!span.ok()) {
      out[d] = -std::numeric_limits<double>::infinity();
      continue;
    }
    const double s = std::exp(log_s[d]);
    const kgs::Whitened guess(span, s, normals);
    const Eigen::Map<const MatrixXd> given(&draws[d * rank * functions], rank,
                                           functions);
    const MatrixXd u = is_z ? guess.to_u(given) : span.to_u(given);
    const MatrixXd w = is_z ? span.to_w(u) : MatrixXd(given);
    const MatrixXd z = is_z ? MatrixXd(given) : guess.to_z(u);
    const kgs::Rates each(rates.col(d).data(),
                          rates.col(d).data() + rates.rows());
    out[d] = model.labels.value(s * span.kernel().times(u), each) -
             0.5 * w.squaredNorm() + 0.5 * z.squaredNorm() + guess.log_volume();
  }
  return out;
}
