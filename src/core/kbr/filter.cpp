#include "filter.hpp"

#include <cmath>

#include "../decompositions.hpp"

namespace kernelbayes::kbr {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd unpack(const VectorXd& packed, Index r) {
  MatrixXd out(r, r);
  for (Index j = 0, at = 0; j < r; at += r - j, ++j) {
    out.col(j).tail(r - j) = packed.segment(at, r - j);
  }
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return out;
}

VectorXd ridge_solve(MatrixXd gram, double delta, const VectorXd& phi) {
  gram.diagonal().array() += delta;
  return linalg::PositiveSolver(gram).solve(phi);
}

// The least squares of (K21), from a QR factor of [S; sqrt(delta) I].
VectorXd stacked_solve(const MatrixXd& gram, double delta,
                       const VectorXd& phi) {
  const Index r = phi.size();
  MatrixXd rows(2 * r, r);
  rows << gram, std::sqrt(delta) * MatrixXd::Identity(r, r);
  VectorXd right = VectorXd::Zero(2 * r);
  right.head(r) = phi;
  const linalg::Orthogonal factor = linalg::orthogonalise(rows, right);
  return factor.upper.triangularView<Eigen::Upper>().solve(factor.z);
}

}  // namespace

VectorXd squared_solve(const MatrixXd& gram, double delta,
                       const VectorXd& phi) {
  if (phi.size() == 0) return phi;
  // Refinement needs a factor with at least one correct digit.
  if (gram.squaredNorm() > 1e10 * delta) {
    return stacked_solve(gram, delta, phi);
  }
  MatrixXd square = MatrixXd::Zero(gram.rows(), gram.cols());
  square.triangularView<Eigen::Lower>() += gram * gram;
  square.diagonal().array() += delta;
  const linalg::PositiveSolver factor(square);
  VectorXd x = factor.solve(VectorXd(gram * phi));
  for (int step = 0; step < 2; ++step) {
    x += factor.solve(VectorXd(gram * (phi - gram * x) - delta * x));
  }
  return x;
}

Posterior update(const Features& p, const Features& b, const VectorXd& c,
                 const VectorXd& phi, double delta, bool squared,
                 bool normalised) {
  VectorXd mu = p * c;
  if (!squared) mu = mu.cwiseMax(0.0);
  if (normalised) mu /= mu.sum();
  const MatrixXd gram = weighted_gram(b, mu);
  Posterior out;
  out.a =
      squared ? squared_solve(gram, delta, phi) : ridge_solve(gram, delta, phi);
  const VectorXd raw = mu.cwiseProduct(b * out.a);
  out.sum = raw.sum();
  out.features = p.transpose() * raw / out.sum;
  return out;
}

Posterior update_by_moments(const Eigen::Ref<const MatrixXd>& t,
                            const Eigen::Ref<const MatrixXd>& u,
                            const Eigen::Ref<const MatrixXd>& v,
                            const VectorXd& c, const VectorXd& phi,
                            double delta) {
  Posterior out;
  out.a = squared_solve(unpack(t * c, v.cols()), delta, phi);
  out.sum = c.dot(v * out.a);
  out.features = unpack(u * out.a, v.rows()) * c / out.sum;
  return out;
}

Posterior correct(const Features& p, const Features& n, const VectorXd& s,
                  const VectorXd& w, const VectorXd& change, double delta) {
  VectorXd d = w.cwiseMax(0.0);
  d /= d.sum();
  const VectorXd centre = n.transpose() * d;
  const MatrixXd gram = weighted_gram(n, d) - centre * centre.transpose();
  Posterior out;
  out.a = ridge_solve(gram, delta, change);
  const VectorXd shift = (n * out.a).array() - centre.dot(out.a);
  out.features = s + p.transpose() * d.cwiseProduct(shift);
  out.sum = 1;
  return out;
}

}  // namespace kernelbayes::kbr
