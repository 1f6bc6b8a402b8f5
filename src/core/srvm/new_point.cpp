#include "new_point.hpp"

#include <cmath>

namespace kernelbayes {
namespace srvm {

namespace {

// H -> L^-1 H
void solve_rows(const Cholesky& factor, Eigen::MatrixXd& h) {
  for (Eigen::Index j = 0; j < h.cols(); ++j) factor.solve_lower(&h(0, j));
}

// Products of the design's columns with those of `right`, which are weighted.
Eigen::MatrixXd design_products(const Model& model, const SeenRows& rows,
                                const NewPoints& points,
                                const Eigen::MatrixXd& right) {
  const Eigen::Index k = points.rows_set.cols();
  Eigen::MatrixXd out(k + model.intercept, right.cols());
  const Eigen::MatrixXd set = rows.roots.asDiagonal() * points.rows_set;
  out.bottomRows(k).noalias() = set.transpose() * right;
  if (model.intercept) out.row(0).noalias() = rows.roots.transpose() * right;
  return out;
}

// The design at the points, a column each.
Eigen::MatrixXd design_at(const Model& model, const NewPoints& points) {
  const Eigen::Index k = points.at_set.cols();
  Eigen::MatrixXd out(k + model.intercept, points.at_set.rows());
  if (model.intercept) out.row(0).setOnes();
  out.bottomRows(k) = points.at_set.transpose();
  return out;
}

}  // namespace

void moments_at_new(const Particle& particle, const Model& model,
                    const PriorStep& step, const SeenRows& rows,
                    const NewPoints& points, double noise, NewMoments out) {
  const Cholesky& factor = particle.factor;
  const double unit = model.scaled ? noise : 1;  // of variances
  const double gain = model.scaled ? 1 : 1 / particle.noise;
  const Eigen::Map<const Eigen::VectorXd> z(factor.z().data(), factor.size());
  Eigen::MatrixXd h = design_at(model, points);
  solve_rows(factor, h);
  out.mean = h.transpose() * z;
  out.mean.array() += model.shift;
  out.variance = unit * h.colwise().squaredNorm().transpose();
  out.log_weight.setConstant(std::log(step.stay(particle.k())));

  const Eigen::MatrixXd own = rows.roots.asDiagonal() * points.rows_points;
  Eigen::MatrixXd u = gain * design_products(model, rows, points, own);
  solve_rows(factor, u);
  const Eigen::ArrayXd precision = gain * own.colwise().squaredNorm().array() -
                                   u.colwise().squaredNorm().array() +
                                   1 / particle.coef;
  const Eigen::ArrayXd score =
      gain * (own.transpose() * rows.y) - u.transpose() * z;
  const Eigen::ArrayXd slope =
      points.self.array() - (u.array() * h.array()).colwise().sum().transpose();
  out.joined_mean = out.mean.array() + slope * score / precision;
  out.joined_variance =
      out.variance.array() + unit * slope.square() / precision;
  out.joined_log_weight = std::log(step.join(particle.k())) -
                          0.5 * (particle.coef * precision).log() +
                          0.5 * score.square() / (precision * unit);
}

}  // namespace srvm
}  // namespace kernelbayes
