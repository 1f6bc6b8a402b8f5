// Class probabilities from the fields of bark fits.
#include <RcppEigen.h>

#include <cmath>
#include <vector>

#include "core/bark/fields/largest.hpp"
#include "glue/lists.hpp"

namespace {

using Map = Eigen::Map<const Eigen::MatrixXd>;

// One matrix per class: points (rows) by draws (columns).
std::vector<Map> matrices(const Rcpp::List& list) {
  std::vector<Map> out;
  for (const SEXP one : list) {
    const Rcpp::NumericMatrix matrix(one);
    out.emplace_back(matrix.begin(), matrix.nrow(), matrix.ncol());
    require(out.back().rows() == out[0].rows() &&
                out.back().cols() == out[0].cols(),
            "the fields differ in size");
  }
  return out;
}

// Latent responses at a point for a draw: means, and standard deviations from
// the variances of f, which are empty if f itself is given.
class Responses {
 public:
  Responses(const Rcpp::List& mean, const Rcpp::List& variance)
      : means_(matrices(mean)),
        variances_(matrices(variance)),
        mean(means_.size()),
        sd(means_.size(), 1.0) {
    require(!means_.empty(), "there are no fields");
    require(variances_.empty() || (variances_.size() == means_.size() &&
                                   variances_[0].rows() == points() &&
                                   variances_[0].cols() == draws()),
            "means and variances differ in size");
  }

  Eigen::Index points() const { return means_[0].rows(); }
  Eigen::Index draws() const { return means_[0].cols(); }

  void at(Eigen::Index point, Eigen::Index draw) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean[k] = means_[k](point, draw);
      if (variances_.empty()) continue;
      sd[k] = std::sqrt(1 + variances_[k](point, draw));
    }
  }

 private:
  std::vector<Map> means_, variances_;

 public:
  std::vector<double> mean, sd;
};

}  // namespace

// Class probabilities: points x draws x classes, or `averaged` over draws,
// points x classes.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector bark_class_probability_cpp(const Rcpp::List& mean,
                                               const Rcpp::List& variance,
                                               bool averaged) {
  Responses z(mean, variance);
  const Eigen::Index classes = mean.size(), draws = averaged ? 1 : z.draws();
  Rcpp::NumericVector out(z.points() * draws * classes);
  kernelbayes::bark::Largest largest;
  for (Eigen::Index s = 0; s < z.draws(); ++s) {
    for (Eigen::Index i = 0; i < z.points(); ++i) {
      z.at(i, s);
      const std::vector<double>& p = largest(z.mean, z.sd);
      for (Eigen::Index k = 0; k < classes; ++k) {
        out[i + z.points() * ((averaged ? 0 : s) + draws * k)] += p[k];
      }
    }
  }
  if (averaged) {
    for (double& p : out) p /= double(z.draws());
    out.attr("dim") = Rcpp::Dimension(z.points(), classes);
  } else {
    out.attr("dim") = Rcpp::Dimension(z.points(), draws, classes);
  }
  return out;
}

// log probability of the class of each point (from 1) for each draw.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd bark_class_log_probability_cpp(const Rcpp::List& mean,
                                               const Rcpp::List& variance,
                                               SEXP labels) {
  Responses z(mean, variance);
  const std::vector<int> own = indices_from_r(labels, "labels", mean.size());
  require(static_cast<Eigen::Index>(own.size()) == z.points(),
          "labels and points disagree");
  Eigen::MatrixXd out(z.points(), z.draws());
  for (Eigen::Index s = 0; s < z.draws(); ++s) {
    for (Eigen::Index i = 0; i < z.points(); ++i) {
      z.at(i, s);
      out(i, s) = kernelbayes::bark::log_largest(z.mean, z.sd, own[i]);
    }
  }
  return out;
}
