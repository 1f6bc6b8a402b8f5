#pragma once

#include <vector>

#include "../linalg.hpp"

namespace kernelbayes::kgs {

/// Labelled points in coordinates of the span of the features, in which the
/// prior is isotropic.
struct Data {
  Eigen::MatrixXd features;  // points x rank
  std::vector<int> point;    // of each datum
  std::vector<int> label;    // of each datum, from 0
  int classes = 2;
};

/// Walls are hyperplanes through the origin at which a datum's label changes
/// from right to wrong. With two classes there is one function f, with class 1
/// where it is positive, and each point has one wall. With more, each class has
/// a function, the largest wins, and a point has a wall for each pair of
/// classes that contains the label of a datum there. Points of the same
/// direction (up to sign) share their walls: a trajectory meets them at the
/// same time. (G5).
class Walls {
 public:
  explicit Walls(const Data& data);

  int size() const { return static_cast<int>(walls_.size()); }
  int data() const { return static_cast<int>(label_.size()); }
  int classes() const { return classes_; }
  bool two_classes() const { return classes_ == 2; }
  /// Of the vectors w: rank, times the number of classes if more than two.
  int dimension() const { return rank() * functions(); }

  /// Components of w along the unit normals of the walls.
  Eigen::VectorXd project(const Eigen::VectorXd& w) const;
  /// The sum of a_k times the normal of wall k.
  Eigen::VectorXd combine(const Eigen::VectorXd& a) const;
  /// Components of the k-th coordinate axis along the normals, and of all.
  Eigen::VectorXd axis(int k) const;
  Eigen::MatrixXd normals() const;

  /// Inner products between the normals of points, for gram_column().
  void keep_gram();
  /// Inner products of the normal of wall k with all normals: in `buffer`, or
  /// where they are stored.
  const double* gram_column(int k, Eigen::VectorXd& buffer) const;

  /// A datum whose label requires a side of a wall.
  struct Member {
    int datum;
    bool positive;
  };
  const Member* begin(int k) const { return &members_[first_[k]]; }
  const Member* end(int k) const {
    return begin(k) + first_[k + 1] - first_[k];
  }
  int label(int datum) const { return label_[datum]; }
  /// Data at points without a direction, where no function is positive.
  const std::vector<int>& always_wrong() const { return always_wrong_; }

 private:
  struct Wall {
    int point, plus, minus;  // classes, if more than two
  };
  int rank() const { return static_cast<int>(normals_.cols()); }
  int functions() const { return two_classes() ? 1 : classes_; }
  void group(const Data& data);
  void build(const Data& data);
  Eigen::MatrixXd product(const Eigen::Ref<const Eigen::MatrixXd>& w) const;

  int classes_;
  Eigen::MatrixXd normals_;  // of distinct directions, unit length
  Eigen::MatrixXd gram_;
  std::vector<int> direction_;  // of each point, -1 if it has none
  std::vector<bool> opposite_;  // of each point: is the direction reversed?
  std::vector<int> first_row_;  // of each block of columns: zero above it
  std::vector<Wall> walls_;
  std::vector<int> label_, first_;
  std::vector<Member> members_;
  std::vector<int> always_wrong_;
};

}  // namespace kernelbayes::kgs
