#include <RcppEigen.h>

#include "core/kbr/filter.hpp"
#include "core/kbr/rotation.hpp"
#include "glue/lists.hpp"

namespace kbr = kernelbayes::kbr;

namespace {

Rcpp::List to_r(const kbr::Posterior& posterior) {
  return Rcpp::List::create(Rcpp::Named("a") = posterior.a,
                            Rcpp::Named("features") = posterior.features,
                            Rcpp::Named("sum") = posterior.sum);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List hmm_update_cpp(const Eigen::Map<Eigen::MatrixXd>& p,
                          const Eigen::Map<Eigen::MatrixXd>& b,
                          const Eigen::VectorXd& c, const Eigen::VectorXd& phi,
                          double delta, bool squared, bool normalised) {
  require(
      p.rows() == b.rows() && p.cols() == c.size() && b.cols() == phi.size(),
      "features disagree");
  return to_r(kbr::update(p, b, c, phi, delta, squared, normalised));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List hmm_update_by_moments_cpp(const Eigen::Map<Eigen::MatrixXd>& t,
                                     const Eigen::Map<Eigen::MatrixXd>& u,
                                     const Eigen::Map<Eigen::MatrixXd>& v,
                                     const Eigen::VectorXd& c,
                                     const Eigen::VectorXd& phi, double delta) {
  const Eigen::Index x = c.size(), y = phi.size();
  require(v.rows() == x && v.cols() == y && t.cols() == x && u.cols() == y &&
              t.rows() == y * (y + 1) / 2 && u.rows() == x * (x + 1) / 2,
          "moments disagree");
  return to_r(kbr::update_by_moments(t, u, v, c, phi, delta));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List hmm_correct_cpp(const Eigen::Map<Eigen::MatrixXd>& p,
                           const Eigen::Map<Eigen::MatrixXd>& n,
                           const Eigen::VectorXd& s, const Eigen::VectorXd& w,
                           const Eigen::VectorXd& change, double delta) {
  require(p.rows() == n.rows() && p.cols() == s.size() &&
              n.rows() == w.size() && n.cols() == change.size(),
          "features disagree");
  return to_r(kbr::correct(p, n, s, w, change, delta));
}

// From rotations b, nine numbers each, `to` others: steps, axis times angle, in
// three columns. Or where such steps lead `to`.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd rotation_cpp(const Eigen::Map<Eigen::MatrixXd>& b,
                             const Eigen::Map<Eigen::MatrixXd>& to) {
  require(b.cols() == 9 && (to.cols() == 9 || to.cols() == 3) &&
              b.rows() == to.rows(),
          "rotations disagree");
  return to.cols() == 9 ? kbr::rotation_minus(to, b)
                        : kbr::rotation_plus(b, to);
}
