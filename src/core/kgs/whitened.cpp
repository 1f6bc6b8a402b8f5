#include "whitened.hpp"

#include <Eigen/Cholesky>

namespace kernelbayes::kgs {

using Eigen::Index;
using Eigen::MatrixXd;

Whitened::Whitened(const Span& span, double s, const Normals& normals) {
  const Index n = normals.pull.cols(), own = normals.precision.cols();
  const double each = static_cast<double>(n) / static_cast<double>(own);
  for (Index c = 0; c < own; ++c) {
    MatrixXd factor = s * s * span.kernel().squares(normals.precision.col(c));
    span.add_gram(factor);
    const Eigen::LLT<Eigen::Ref<MatrixXd>> llt(factor);
    log_volume_ +=
        each * (span.log_determinant() - factor.diagonal().array().log().sum());
    factors_.push_back(std::move(factor));
  }
  mean_ = solve(s * span.kernel().transposed_times(normals.pull));
}

// change(factor, columns of its functions).
template <class Change>
void Whitened::change_each(MatrixXd& columns, const Change& change) const {
  if (factors_.size() == 1) {
    change(factors_[0], columns);
    return;
  }
  for (Index c = 0; c < columns.cols(); ++c) {
    change(factors_[c], columns.col(c));
  }
}

void Whitened::solve_upper(MatrixXd& columns) const {
  change_each(columns, [](const MatrixXd& factor, auto&& part) {
    factor.transpose().triangularView<Eigen::Upper>().solveInPlace(part);
  });
}

MatrixXd Whitened::to_u(const MatrixXd& z) const {
  MatrixXd out = z;
  solve_upper(out);
  return out + mean_;
}

MatrixXd Whitened::to_z(const MatrixXd& u) const {
  MatrixXd out = u - mean_;
  change_each(out, [](const MatrixXd& factor, auto&& part) {
    part = factor.transpose().triangularView<Eigen::Upper>() * part.eval();
  });
  return out;
}

MatrixXd Whitened::slope(MatrixXd of_u) const {
  change_each(of_u, [](const MatrixXd& factor, auto&& part) {
    factor.triangularView<Eigen::Lower>().solveInPlace(part);
  });
  return of_u;
}

MatrixXd Whitened::solve(MatrixXd v) const {
  MatrixXd out = slope(std::move(v));
  solve_upper(out);
  return out;
}

}  // namespace kernelbayes::kgs
