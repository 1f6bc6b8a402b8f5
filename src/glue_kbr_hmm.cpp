#include <RcppEigen.h>

#include "core/kbr/filter.hpp"
#include "core/kbr/rotation.hpp"
#include "glue/lists.hpp"

namespace kbr = kernelbayes::kbr;

namespace {

Rcpp::List to_r(const kbr::Posterior& posterior, const char* name) {
  return Rcpp::List::create(Rcpp::Named(name) = posterior.a,
                            Rcpp::Named("features") = posterior.features,
                            Rcpp::Named("sum") = posterior.sum);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd third_moments_cpp(const Eigen::Map<Eigen::MatrixXd>& left,
                                  const Eigen::Map<Eigen::MatrixXd>& right) {
  require(left.rows() == right.rows(), "features disagree");
  return kbr::third_moments(left, right);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List hmm_update_cpp(const Eigen::Map<Eigen::MatrixXd>& p,
                          const Eigen::Map<Eigen::MatrixXd>& b,
                          const Eigen::VectorXd& c, const Eigen::VectorXd& phi,
                          double delta, bool squared) {
  require(
      p.rows() == b.rows() && p.cols() == c.size() && b.cols() == phi.size(),
      "features disagree");
  return to_r(kbr::update(p, b, c, phi, delta, squared), "a");
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
  return to_r(kbr::update_by_moments(t, u, v, c, phi, delta), "a");
}

// [[Rcpp::export(rng = false)]]
Rcpp::List hmm_backward_cpp(const Eigen::Map<Eigen::MatrixXd>& p,
                            const Eigen::Map<Eigen::MatrixXd>& n,
                            const Eigen::VectorXd& e,
                            const Eigen::VectorXd& phi, double delta,
                            bool squared) {
  require(
      p.rows() == n.rows() && p.cols() == e.size() && n.cols() == phi.size(),
      "features disagree");
  return to_r(kbr::backward(p, n, e, phi, delta, squared), "z");
}

// [[Rcpp::export(rng = false)]]
Rcpp::List hmm_correct_cpp(const Eigen::Map<Eigen::MatrixXd>& p,
                           const Eigen::Map<Eigen::MatrixXd>& n,
                           const Eigen::VectorXd& s, const Eigen::VectorXd& w,
                           const Eigen::VectorXd& change, double delta) {
  require(p.rows() == n.rows() && p.cols() == s.size() &&
              n.rows() == w.size() && n.cols() == change.size(),
          "features disagree");
  return to_r(kbr::correct(p, n, s, w, change, delta), "z");
}

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd rotation_minus_cpp(const Eigen::Map<Eigen::MatrixXd>& a,
                                   const Eigen::Map<Eigen::MatrixXd>& b) {
  require(a.cols() == 9 && b.cols() == 9 && a.rows() == b.rows(),
          "rotations disagree");
  return kbr::rotation_minus(a, b);
}

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd rotation_plus_cpp(const Eigen::Map<Eigen::MatrixXd>& b,
                                  const Eigen::Map<Eigen::MatrixXd>& v) {
  require(b.cols() == 9 && v.cols() == 3 && b.rows() == v.rows(),
          "rotations disagree");
  return kbr::rotation_plus(b, v);
}
