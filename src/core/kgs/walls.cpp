#include "walls.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "kernelbayes/rng.hpp"

namespace kernelbayes::kgs {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kBlock = 64;
// Unit vectors closer than this are one direction.
constexpr double kSame = 1e-10;
constexpr double kRootHalf = 0.70710678118654752440;

}  // namespace

Walls::Walls(const Data& data) : classes_(data.classes), label_(data.label) {
  if (data.classes < 2 || data.point.size() != data.label.size()) {
    throw std::invalid_argument("labels and points do not match");
  }
  group(data);
  build(data);
}

// Equal directions have equal projections on any vector, so they are neighbours
// when sorted by projection.
void Walls::group(const Data& data) {
  const Index n = data.features.rows();
  MatrixXd unit = data.features;
  Rng rng(1);
  VectorXd probe(unit.cols());
  for (double& v : probe) v = rng.normal();
  VectorXd key(n);
  for (Index i = 0; i < n; ++i) {
    const double norm = unit.row(i).norm();
    if (norm > 0) unit.row(i) /= norm;
    key[i] = std::abs(unit.row(i).dot(probe));
  }
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return key[a] < key[b]; });

  std::vector<Index> same(n);  // the first point of this direction
  opposite_.assign(n, false);
  for (Index j = 0; j < n; ++j) {
    const Index i = order[j];
    same[i] = i;
    const double reach = kSame * probe.norm();
    for (Index l = j - 1; l >= 0 && key[i] - key[order[l]] <= reach; --l) {
      const Index other = same[order[l]];
      const double sign = unit.row(i).dot(unit.row(other)) < 0 ? -1 : 1;
      if ((unit.row(i) - sign * unit.row(other)).norm() < kSame) {
        same[i] = other;
        opposite_[i] = sign < 0;
        break;
      }
    }
  }

  direction_.assign(n, -1);
  Index kept = 0;
  for (Index i = 0; i < n; ++i) {
    if (same[i] != i || unit.row(i).squaredNorm() == 0) continue;
    unit.row(kept) = unit.row(i);
    direction_[i] = static_cast<int>(kept++);
  }
  for (Index i = 0; i < n; ++i) direction_[i] = direction_[same[i]];
  normals_ = unit.topRows(kept);
  for (Index c = 0; c < normals_.cols(); c += kBlock) {
    const Index width = std::min(kBlock, normals_.cols() - c);
    Index row = 0;
    while (row < kept && normals_.row(row).segment(c, width).isZero(0)) ++row;
    first_row_.push_back(static_cast<int>(row));
  }
}

void Walls::build(const Data& data) {
  // Per direction and pair of classes; (0, 1) in two-class problems.
  std::map<std::array<int, 3>, std::vector<Member>> found;
  for (int i = 0; i < this->data(); ++i) {
    const int at = direction_[data.point[i]], own = data.label[i];
    if (at < 0) {
      always_wrong_.push_back(i);
      continue;
    }
    const bool reversed = opposite_[data.point[i]];
    for (int other = 0; other < classes_; ++other) {
      if (other == own) continue;
      // Positive: the larger class of the pair wins.
      const std::array<int, 3> wall{at, std::max(own, other),
                                    std::min(own, other)};
      found[wall].push_back({i, (own > other) != reversed});
    }
  }
  first_.push_back(0);
  for (const auto& entry : found) {
    walls_.push_back({entry.first[0], entry.first[1], entry.first[2]});
    members_.insert(members_.end(), entry.second.begin(), entry.second.end());
    first_.push_back(static_cast<int>(members_.size()));
  }
  // So that iterators past the end are valid without members.
  members_.push_back({-1, false});
  if (two_classes() && size() < normals_.rows()) {
    throw std::invalid_argument("a point has no label");
  }
}

MatrixXd Walls::product(const Eigen::Ref<const MatrixXd>& w) const {
  MatrixXd out = MatrixXd::Zero(normals_.rows(), w.cols());
  for (std::size_t block = 0; block < first_row_.size(); ++block) {
    const Index c = static_cast<Index>(block) * kBlock, row = first_row_[block];
    const Index width = std::min(kBlock, normals_.cols() - c);
    const Index rows = normals_.rows() - row;
    for (Index f = 0; f < w.cols(); ++f) {
      out.col(f).tail(rows).noalias() +=
          normals_.block(row, c, rows, width) * w.col(f).segment(c, width);
    }
  }
  return out;
}

VectorXd Walls::project(const VectorXd& w) const {
  if (two_classes()) return product(w);
  const MatrixXd f =
      product(Eigen::Map<const MatrixXd>(w.data(), rank(), classes_));
  VectorXd out(size());
  for (int k = 0; k < size(); ++k) {
    const Wall& wall = walls_[k];
    out[k] = (f(wall.point, wall.plus) - f(wall.point, wall.minus)) * kRootHalf;
  }
  return out;
}

VectorXd Walls::combine(const VectorXd& a) const {
  MatrixXd weights = MatrixXd::Zero(normals_.rows(), functions());
  if (two_classes()) {
    weights = a;
  } else {
    for (int k = 0; k < size(); ++k) {
      weights(walls_[k].point, walls_[k].plus) += a[k] * kRootHalf;
      weights(walls_[k].point, walls_[k].minus) -= a[k] * kRootHalf;
    }
  }
  MatrixXd out(rank(), functions());
  for (std::size_t block = 0; block < first_row_.size(); ++block) {
    const Index c = static_cast<Index>(block) * kBlock, row = first_row_[block];
    const Index width = std::min(kBlock, normals_.cols() - c);
    const Index rows = normals_.rows() - row;
    for (Index f = 0; f < out.cols(); ++f) {
      out.col(f).segment(c, width).noalias() =
          normals_.block(row, c, rows, width).transpose() *
          weights.col(f).tail(rows);
    }
  }
  return Eigen::Map<const VectorXd>(out.data(), out.size());
}

VectorXd Walls::axis(int k) const {
  if (two_classes()) return normals_.col(k);
  const int function = k / rank();
  VectorXd out(size());
  for (int j = 0; j < size(); ++j) {
    const Wall& wall = walls_[j];
    const int sign = (wall.plus == function) - (wall.minus == function);
    out[j] = sign * kRootHalf * normals_(wall.point, k % rank());
  }
  return out;
}

MatrixXd Walls::normals() const {
  MatrixXd out(size(), dimension());
  for (int k = 0; k < dimension(); ++k) out.col(k) = axis(k);
  return out;
}

void Walls::keep_gram() {
  gram_ = MatrixXd::Zero(normals_.rows(), normals_.rows());
  if (gram_.size() == 0) return;  // no walls: Eigen would form a null reference
  gram_.selfadjointView<Eigen::Lower>().rankUpdate(normals_);
  gram_.triangularView<Eigen::StrictlyUpper>() = gram_.transpose();
}

const double* Walls::gram_column(int k, VectorXd& buffer) const {
  if (two_classes()) return gram_.col(k).data();
  const Wall& from = walls_[k];
  buffer.resize(size());
  for (int j = 0; j < size(); ++j) {
    const Wall& wall = walls_[j];
    const int overlap = (wall.plus == from.plus) - (wall.plus == from.minus) -
                        (wall.minus == from.plus) + (wall.minus == from.minus);
    buffer[j] = 0.5 * overlap * gram_(wall.point, from.point);
  }
  return buffer.data();
}

}  // namespace kernelbayes::kgs
