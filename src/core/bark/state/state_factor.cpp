// The factor of the posterior precision of the coefficients, and all that is
// recomputed from it.
#include <limits>

#include "core/decompositions.hpp"
#include "kernelbayes/constants.hpp"
#include "row_parts.hpp"
#include "state.hpp"

namespace kernelbayes::bark {

namespace {

// factor factor', computing one half.
template <typename Derived>
void square_into(const Eigen::MatrixBase<Derived>& factor,
                 Eigen::Block<Eigen::MatrixXd> out) {
  out.triangularView<Eigen::Lower>().setZero();
  out.selfadjointView<Eigen::Lower>().rankUpdate(factor);
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
}

}  // namespace

void State::sum_up(const Eigen::MatrixXd& values, Eigen::MatrixXd& gram,
                   Eigen::VectorXd& product) const {
  const int m = size();
  const auto columns = values.leftCols(m);
  constexpr Eigen::Index kPart = 8192;
  gram.topLeftCorner(m, m) =
      RowParts(data_->n(), kPart)
          .add(data_->executor, 0, Eigen::MatrixXd::Zero(m, m).eval(),
               [&](Eigen::Index first, Eigen::Index rows, int) {
                 return data_->arithmetic->squares(
                     columns.middleRows(first, rows));
               });
  product.head(m) = data_->arithmetic->product(columns, response());
}

Eigen::VectorXd State::deviations() const {
  Eigen::VectorXd s(size());
  for (int j = 0; j < size(); ++j) s[j] = std::sqrt(variance_[j]);
  return s;
}

// (B14): the factor of M = I + phi s s' * G, and z = L^-1 phi s * K'Wy.
State::Factor State::scaled_factor(const Eigen::MatrixXd& values,
                                   const Eigen::MatrixXd& gram,
                                   const Eigen::VectorXd& product, double phi,
                                   const Eigen::VectorXd& s) const {
  const int m = size();
  Factor out;
  if (m == 0) return out;
  const Eigen::VectorXd scaled = phi * s;
  out.lower = scaled.asDiagonal() * gram.topLeftCorner(m, m) * s.asDiagonal();
  out.lower.diagonal().array() += 1;
  if (!linalg::factorise(out.lower)) {
    return scaled_factor_by_qr(values, s, phi);
  }
  out.z = scaled.cwiseProduct(product.head(m));
  out.lower.triangularView<Eigen::Lower>().solveInPlace(out.z);
  return out;
}

// (B18): the same from a QR factor of [sqrt(phi) W^(1/2) K s; I]: nearly
// collinear columns with huge variances lose all digits in the Gram form.
State::Factor State::scaled_factor_by_qr(const Eigen::MatrixXd& values,
                                         const Eigen::VectorXd& s,
                                         double phi) const {
  const int m = size(), n = data_->n();
  const double root = std::sqrt(phi);
  Eigen::MatrixXd stacked(n + m, m);
  stacked.topRows(n) = values.leftCols(m) * (root * s).asDiagonal();
  stacked.bottomRows(m).setIdentity();
  Eigen::VectorXd target = Eigen::VectorXd::Zero(n + m);
  target.head(n) = root * response();
  const auto [upper, z] = linalg::orthogonalise(stacked, target);
  return {upper.transpose(), z, upper.allFinite() && z.allFinite()};
}

// (B15).
double State::log_likelihood_of(const Factor& scaled, double phi) const {
  if (!scaled.ok) return -std::numeric_limits<double>::infinity();
  return 0.5 * data_->n() * (std::log(phi) - kLogTwoPi) +
         response_.log_weights() -
         0.5 * (phi * response_.squares() - scaled.z.squaredNorm()) -
         scaled.lower.diagonal().array().log().sum();
}

// Covariance and mean from the factor: (B16).
bool State::take_factor(const Factor& scaled) {
  const int m = size();
  log_likelihood_ = log_likelihood_of(scaled, phi_);
  if (!scaled.ok) return false;
  const Eigen::VectorXd s = deviations();
  const auto lower = scaled.lower.triangularView<Eigen::Lower>();
  Eigen::MatrixXd half = s.asDiagonal();  // L^-1 diag(s)
  lower.solveInPlace(half);
  square_into(half.transpose(), covariance_.topLeftCorner(m, m));
  mean_.head(m).noalias() = half.transpose() * scaled.z;
  return true;
}

bool State::refresh() {
  columns_.compute(places(), response_);
  sum_up(columns_.values(), gram_, product_);
  return refactor();
}

bool State::refactor() {
  return take_factor(
      scaled_factor(columns_.values(), gram_, product_, phi_, deviations()));
}

State::Factor State::factor() const {
  Factor out =
      scaled_factor(columns_.values(), gram_, product_, phi_, deviations());
  if (size() > 0) {
    out.lower = deviations().cwiseInverse().asDiagonal() * out.lower;
  }
  return out;
}

State::Factor State::prior_factor() const {
  Factor out;
  out.lower = deviations().cwiseInverse().asDiagonal();
  out.z = Eigen::VectorXd::Zero(size());
  return out;
}

// (B17).
Eigen::VectorXd State::draw_coefficients(const Factor& factor, Rng& rng) {
  Eigen::VectorXd out = factor.z;
  for (Eigen::Index j = 0; j < out.size(); ++j) out[j] += rng.normal();
  factor.lower.triangularView<Eigen::Lower>().transpose().solveInPlace(out);
  return out;
}

}  // namespace kernelbayes::bark
