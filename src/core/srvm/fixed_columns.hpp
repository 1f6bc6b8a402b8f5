#pragma once

#include "../linalg.hpp"

namespace kernelbayes::srvm {

/// Columns that no move takes out: the intercept, and a linear part, the
/// columns (x - centre) times the scale. Their coefficients have the prior of
/// the others, (S65).
struct FixedColumns {
  bool intercept = true;
  Eigen::VectorXd centre;  // empty: no linear part
  double scale = 1;

  int size() const { return intercept + static_cast<int>(centre.size()); }

  /// At points, one per row.
  Eigen::MatrixXd at(const Eigen::MatrixXd& x) const {
    Eigen::MatrixXd out(x.rows(), size());
    if (intercept) out.col(0).setOnes();
    if (centre.size() > 0) {
      out.rightCols(centre.size()) = scale * (x.rowwise() - centre.transpose());
    }
    return out;
  }
};

}  // namespace kernelbayes::srvm
