#include "ridge.hpp"

#include "../decompositions.hpp"

namespace kernelbayes {
namespace kgs {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Ridge::Ridge(const Span& span, const Normals& normals) {
  const MatrixXd pull = span.kernel().transposed_times(normals.pull);
  for (Index c = 0; c < pull.cols(); ++c) {
    linalg::Spectrum spectrum =
        linalg::spectrum(span.kernel().squares(normals.precision.col(c)));
    each_.push_back({spectrum.values.cwiseMax(0), VectorXd(), MatrixXd()});
    each_.back().pull = spectrum.vectors.transpose() * pull.col(c);
    each_.back().vectors = std::move(spectrum.vectors);
  }
}

VectorXd Ridge::One::root(double s) const {
  return (1 + s * s * values.array()).sqrt();
}

MatrixXd Ridge::to_w(const MatrixXd& z, double s) const {
  MatrixXd out(z.rows(), z.cols());
  for (Index c = 0; c < z.cols(); ++c) {
    const One& own = each_[c];
    const auto root = own.root(s).array().eval();
    out.col(c) =
        own.vectors *
        ((s * own.pull.array() / root + z.col(c).array()) / root).matrix();
  }
  return out;
}

MatrixXd Ridge::to_z(const MatrixXd& w, double s) const {
  MatrixXd out(w.rows(), w.cols());
  for (Index c = 0; c < w.cols(); ++c) {
    const One& own = each_[c];
    const auto root = own.root(s).array().eval();
    const VectorXd along = own.vectors.transpose() * w.col(c);
    out.col(c) = root * along.array() - s * own.pull.array() / root;
  }
  return out;
}

double Ridge::log_volume(double s) const {
  double out = 0;
  for (const One& own : each_) out -= own.root(s).array().log().sum();
  return out;
}

}  // namespace kgs
}  // namespace kernelbayes
