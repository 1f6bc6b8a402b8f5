#include "whitening.hpp"

#include <cmath>

#include "core/decompositions.hpp"

namespace kernelbayes::bark {

namespace {

// L'U'U L = E D E'.
void diagonalise(const Eigen::MatrixXd& squares, const Eigen::MatrixXd& factor,
                 Eigen::Ref<Eigen::MatrixXd> e, Eigen::Ref<Eigen::VectorXd> d) {
  if (factor.cols() == 1) {
    e(0, 0) = 1;
    d[0] = factor(0, 0) * factor(0, 0) * squares(0, 0);
    return;
  }
  const linalg::Spectrum found =
      linalg::spectrum(factor.transpose() * squares * factor);
  e = found.vectors;
  d = found.values.cwiseMax(0);
}

}  // namespace

Whitening::Whitening(const std::vector<int>* group, int count,
                     Eigen::MatrixXd u, const Eigen::MatrixXd& factor)
    : group_(group),
      q_(u.cols()),
      u_(std::move(u)),
      factor_(factor),
      e_(q_, q_ * count),
      d_(q_, count),
      apply_(q_, q_ * count),
      undo_(q_, q_ * count) {
  // U_g'U_g, one after another.
  Eigen::MatrixXd squares(q_, q_ * count);
  if (group_) {
    squares.setZero();
    for (Eigen::Index i = 0; i < u_.rows(); ++i) {
      squares.middleCols(of(i) * q_, q_).noalias() +=
          u_.row(i).transpose() * u_.row(i);
    }
  } else {
    squares = u_.transpose() * u_;
  }
  for (int g = 0; g < count; ++g) {
    diagonalise(squares.middleCols(g * q_, q_), factor,
                e_.middleCols(g * q_, q_), d_.col(g));
    set_maps(g);
  }
  log_determinant_ = d_.array().log1p().sum();
}

// A = S h(D) S' with S = LE and h = ((1 + d)^(-1/2) - 1) / d, and B likewise
// with (1 + d)^(1/2), in forms that do not cancel.
void Whitening::set_maps(int g) {
  const Eigen::MatrixXd s = factor_ * e_.middleCols(g * q_, q_);
  const Eigen::VectorXd root = (1 + d_.col(g).array()).sqrt();
  const Eigen::VectorXd above = (root.array() + 1).inverse();
  apply_.middleCols(g * q_, q_) =
      -s * above.cwiseQuotient(root).asDiagonal() * s.transpose();
  undo_.middleCols(g * q_, q_) = s * above.asDiagonal() * s.transpose();
}

void Whitening::gather(Eigen::Ref<const Eigen::VectorXd> v,
                       Eigen::MatrixXd& out) const {
  if (!group_) {
    out.noalias() = u_.transpose() * v;
    return;
  }
  out.setZero(q_, count());
  for (Eigen::Index l = 0; l < q_; ++l) {
    const double* u = u_.col(l).data();
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      out(l, (*group_)[i]) += u[i] * v[i];
    }
  }
}

void Whitening::scatter(const Eigen::MatrixXd& c,
                        Eigen::Ref<Eigen::VectorXd> v) const {
  for (Eigen::Index l = 0; l < q_; ++l) {
    const double* u = u_.col(l).data();
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      v[i] += u[i] * c(l, (*group_)[i]);
    }
  }
}

void Whitening::add(const Eigen::MatrixXd& middle,
                    Eigen::Ref<Eigen::MatrixXd> columns) const {
  if (!group_) {
    const Eigen::MatrixXd c = middle * (u_.transpose() * columns);
    columns.noalias() += u_ * c;
    return;
  }
  Eigen::MatrixXd c;
  Eigen::VectorXd one(q_);
  for (Eigen::Index j = 0; j < columns.cols(); ++j) {
    gather(columns.col(j), c);
    if (q_ == 1) {
      c.array() *= middle.array();
    } else {
      for (int g = 0; g < count(); ++g) {
        one.noalias() = middle.middleCols(g * q_, q_) * c.col(g);
        c.col(g) = one;
      }
    }
    scatter(c, columns.col(j));
  }
}

void Whitening::apply(Eigen::Ref<Eigen::MatrixXd> columns) const {
  add(apply_, columns);
}

void Whitening::undo(Eigen::Ref<Eigen::VectorXd> column) const {
  add(undo_, column);
}

// L E (1 + D)^(-1/2) E' is the same whichever eigenvectors were found.
Eigen::MatrixXd Whitening::draw(const Eigen::VectorXd& residuals,
                                Rng& rng) const {
  Eigen::MatrixXd c;
  gather(residuals, c);
  Eigen::VectorXd normal(q_);
  for (int g = 0; g < count(); ++g) {
    const auto e = e_.middleCols(g * q_, q_);
    const Eigen::ArrayXd root = (1 + d_.col(g).array()).sqrt();
    for (double& value : normal) value = rng.normal();
    const Eigen::VectorXd mean =
        e.transpose() * (factor_.transpose() * c.col(g));
    const Eigen::VectorXd spread = e.transpose() * normal;
    c.col(g) = factor_ *
               (e * ((mean.array() / root + spread.array()) / root).matrix());
  }
  return c;
}

}  // namespace kernelbayes::bark
