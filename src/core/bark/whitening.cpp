#include "whitening.hpp"

#include <cmath>

#include "../decompositions.hpp"

namespace kernelbayes {
namespace bark {

namespace {

// L'U'U L = E D E' and S = LE.
void diagonalise(const Eigen::MatrixXd& squares, const Eigen::MatrixXd& factor,
                 Eigen::Ref<Eigen::MatrixXd> s, Eigen::Ref<Eigen::VectorXd> d) {
  if (factor.cols() == 1) {
    s = factor;
    d[0] = factor(0, 0) * factor(0, 0) * squares(0, 0);
    return;
  }
  const linalg::Spectrum found =
      linalg::spectrum(factor.transpose() * squares * factor);
  s = factor * found.vectors;
  d = found.values.cwiseMax(0);
}

}  // namespace

Whitening::Whitening(const std::vector<int>* group, int count,
                     Eigen::MatrixXd u, const Eigen::MatrixXd& factor)
    : group_(group),
      q_(u.cols()),
      u_(std::move(u)),
      s_(q_, q_ * count),
      d_(q_, count) {
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
                s_.middleCols(g * q_, q_), d_.col(g));
  }
  log_determinant_ = d_.array().log1p().sum();
}

Eigen::MatrixXd Whitening::gather(Eigen::Ref<const Eigen::VectorXd> v) const {
  if (!group_) return u_.transpose() * v;
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(q_, count());
  for (Eigen::Index l = 0; l < q_; ++l) {
    const double* u = u_.col(l).data();
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      out(l, (*group_)[i]) += u[i] * v[i];
    }
  }
  return out;
}

void Whitening::scatter(const Eigen::MatrixXd& c,
                        Eigen::Ref<Eigen::VectorXd> v) const {
  if (!group_) {
    v.noalias() += u_ * c.col(0);
    return;
  }
  for (Eigen::Index l = 0; l < q_; ++l) {
    const double* u = u_.col(l).data();
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      v[i] += u[i] * c(l, (*group_)[i]);
    }
  }
}

template <class F>
void Whitening::map(Eigen::Ref<Eigen::VectorXd> v, F f) const {
  Eigen::MatrixXd c = gather(v);
  for (int g = 0; g < count(); ++g) {
    const auto s = s_.middleCols(g * q_, q_);
    const Eigen::VectorXd inner =
        d_.col(g).unaryExpr(f).cwiseProduct(s.transpose() * c.col(g));
    c.col(g) = s * inner;
  }
  scatter(c, v);
}

// T = I - U S h(D) S'U' with h = (1 - (1 + d)^(-1/2)) / d, which does not
// cancel in this form.
void Whitening::apply(Eigen::Ref<Eigen::MatrixXd> columns) const {
  for (Eigen::Index j = 0; j < columns.cols(); ++j) {
    map(columns.col(j), [](double d) {
      const double root = std::sqrt(1 + d);
      return -1 / (root * (root + 1));
    });
  }
}

void Whitening::undo(Eigen::Ref<Eigen::VectorXd> column) const {
  map(column, [](double d) { return 1 / (std::sqrt(1 + d) + 1); });
}

Eigen::MatrixXd Whitening::draw(const Eigen::VectorXd& residuals,
                                Rng& rng) const {
  Eigen::MatrixXd c = gather(residuals);
  for (int g = 0; g < count(); ++g) {
    const auto s = s_.middleCols(g * q_, q_);
    const Eigen::ArrayXd root = (1 + d_.col(g).array()).sqrt();
    Eigen::VectorXd inner = s.transpose() * c.col(g);
    for (Eigen::Index l = 0; l < q_; ++l) {
      inner[l] = (inner[l] / root[l] + rng.normal()) / root[l];
    }
    c.col(g) = s * inner;
  }
  return c;
}

}  // namespace bark
}  // namespace kernelbayes
