#include "row_blocks.hpp"

namespace kernelbayes::kgs {

using Eigen::MatrixXd;
using Eigen::VectorXd;

RowBlocks::RowBlocks(const MatrixXd& whole)
    : RowBlocks(whole.rows(), whole.cols(), [&](Index first, Index n) {
        return MatrixXd(whole.middleRows(first, n));
      }) {}

MatrixXd RowBlocks::whole() const {
  MatrixXd out(rows_, columns_);
  Index at = 0;
  for (const MatrixXd& block : blocks_) {
    out.middleRows(at, block.rows()) = block;
    at += block.rows();
  }
  return out;
}

MatrixXd RowBlocks::times(const MatrixXd& w) const {
  MatrixXd out(rows_, w.cols());
  for (Index c = 0; c < w.cols(); ++c) {
    Index at = 0;
    for (const MatrixXd& block : blocks_) {
      Arithmetic::best().times(block, w.col(c),
                               out.col(c).segment(at, block.rows()));
      at += block.rows();
    }
  }
  return out;
}

MatrixXd RowBlocks::transposed_times(const MatrixXd& v) const {
  MatrixXd out = MatrixXd::Zero(columns_, v.cols());
  Index at = 0;
  for (const MatrixXd& block : blocks_) {
    out += Arithmetic::best().products(block, v.middleRows(at, block.rows()));
    at += block.rows();
  }
  return out;
}

MatrixXd RowBlocks::squares(const VectorXd& weights) const {
  MatrixXd out = MatrixXd::Zero(columns_, columns_);
  Index at = 0;
  for (const MatrixXd& block : blocks_) {
    const Index n = block.rows();
    const MatrixXd scaled =
        weights.segment(at, n).cwiseSqrt().asDiagonal() * block;
    out += Arithmetic::best().squares(scaled);
    at += n;
  }
  return out;
}

}  // namespace kernelbayes::kgs
