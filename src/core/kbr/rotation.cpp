#include "rotation.hpp"

#include <Eigen/Geometry>

namespace kernelbayes::kbr {

namespace {

Eigen::Matrix3d matrix_of(const Eigen::Ref<const Eigen::MatrixXd>& rows,
                          Eigen::Index i) {
  Eigen::Matrix3d out;
  for (Eigen::Index k = 0; k < 9; ++k) out(k % 3, k / 3) = rows(i, k);
  return out;
}

}  // namespace

Eigen::MatrixXd rotation_minus(const Eigen::Ref<const Eigen::MatrixXd>& a,
                               const Eigen::Ref<const Eigen::MatrixXd>& b) {
  Eigen::MatrixXd out(a.rows(), 3);
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    const Eigen::Matrix3d between =
        matrix_of(b, i).transpose() * matrix_of(a, i);
    const Eigen::AngleAxisd turn(between);
    out.row(i) = turn.angle() * turn.axis().transpose();
  }
  return out;
}

Eigen::MatrixXd rotation_plus(const Eigen::Ref<const Eigen::MatrixXd>& b,
                              const Eigen::Ref<const Eigen::MatrixXd>& v) {
  Eigen::MatrixXd out(b.rows(), 9);
  for (Eigen::Index i = 0; i < b.rows(); ++i) {
    const Eigen::Vector3d turn = v.row(i).transpose();
    const double angle = turn.norm();
    const Eigen::Vector3d axis =
        angle > 0.0 ? Eigen::Vector3d(turn / angle) : Eigen::Vector3d::UnitX();
    const Eigen::Matrix3d to =
        matrix_of(b, i) * Eigen::AngleAxisd(angle, axis).toRotationMatrix();
    for (Eigen::Index k = 0; k < 9; ++k) out(i, k) = to(k % 3, k / 3);
  }
  return out;
}

}  // namespace kernelbayes::kbr
