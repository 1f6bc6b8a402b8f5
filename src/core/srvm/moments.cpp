#include "moments.hpp"

#include <algorithm>
#include <cmath>

namespace kernelbayes::srvm {

void posterior_moments(const Particle& particle, const Model& model,
                       const Eigen::MatrixXd& fixed,
                       const Eigen::MatrixXd& values,
                       const std::vector<int>& column,
                       Eigen::Ref<Eigen::VectorXd> mean,
                       Eigen::Ref<Eigen::VectorXd> variance) {
  // (S15): with u the design row and h = L^-1 u, mean h'z, variance h'h.
  constexpr Eigen::Index kTile = 128;
  const int p = particle.factor.size(), m = static_cast<int>(fixed.cols());
  Eigen::MatrixXd h(kTile, p);
  mean.setConstant(model.shift);
  variance.setZero();
  for (Eigen::Index from = 0; from < values.rows(); from += kTile) {
    const Eigen::Index n = std::min(kTile, values.rows() - from);
    for (int j = 0; j < p; ++j) {
      auto own = h.col(j).head(n);
      if (j < m) {
        own = fixed.col(j).segment(from, n);
      } else {
        const int candidate = particle.set[j - m];
        own = values.col(column[candidate]).segment(from, n);
      }
      for (int l = 0; l < j; ++l) {
        own -= particle.factor(j, l) * h.col(l).head(n);
      }
      own /= particle.factor(j, j);
      mean.segment(from, n) += particle.factor.z(j) * own;
      variance.segment(from, n) += own.cwiseAbs2();
    }
  }
}

Eigen::VectorXd centre_changes(const Particle& particle, bool scaled) {
  const int p = particle.factor.size(), k = particle.k();
  Eigen::VectorXd mean = Eigen::Map<const Eigen::VectorXd>(
      particle.factor.z().data(), static_cast<Eigen::Index>(p));
  particle.factor.solve_upper(mean.data());
  Eigen::VectorXd out(k), column(p);
  for (int j = 0; j < k; ++j) {
    const int at = p - k + j;
    column.setZero();
    column[at] = 1;
    particle.factor.solve_lower(column.data());
    particle.factor.solve_upper(column.data());
    const double variance = column[at];
    const double share =
        std::max(1 - column.squaredNorm() / (particle.coef * variance), 0.0);
    out[j] = mean[at] * mean[at] / variance * share;
  }
  return scaled ? out : (out * particle.noise).eval();
}

namespace {

// Sums in one order, whatever the other points and wherever in memory.
double dot(const Eigen::Ref<const Eigen::VectorXd>& a,
           const Eigen::Ref<const Eigen::VectorXd>& b) {
  return kernelbayes::detail::dot(static_cast<int>(a.size()), a.data(),
                                  b.data());
}

// L^-1 of the design row at a point.
Eigen::VectorXd design_at(const Particle& particle,
                          const Eigen::MatrixXd& at_design,
                          Eigen::Index point) {
  Eigen::VectorXd out = at_design.row(point);
  particle.factor.solve_lower(out.data());
  return out;
}

// L^-1 of the products of the design's columns with `own`.
Eigen::VectorXd design_products(const Particle& particle,
                                const Eigen::MatrixXd& design,
                                const Eigen::VectorXd& own, double gain) {
  Eigen::VectorXd out(design.cols());
  for (Eigen::Index j = 0; j < design.cols(); ++j) {
    out[j] = gain * dot(design.col(j), own);
  }
  particle.factor.solve_lower(out.data());
  return out;
}

}  // namespace

void moments_at_new(const Particle& particle, const Model& model,
                    const PriorStep& step, const SeenRows& rows,
                    const NewPoints& points, const SpreadRule& rule,
                    double noise, std::vector<NewMoments> out) {
  const double unit = model.scaled ? noise : 1;  // of variances
  const double gain = model.scaled ? 1 : 1 / particle.noise;
  const Eigen::Map<const Eigen::VectorXd> z(particle.factor.z().data(),
                                            particle.factor.size());
  const Eigen::MatrixXd design = rows.roots.asDiagonal() * points.rows_design;
  const double stay = std::log(step.stay(particle.k()));
  const double join = std::log(step.join(particle.k()));
  for (Eigen::Index i = 0; i < points.self.size(); ++i) {
    const Eigen::VectorXd h = design_at(particle, points.at_design, i);
    const Eigen::VectorXd own =
        rows.roots.cwiseProduct(points.rows_points.col(i));
    const Eigen::VectorXd u = design_products(particle, design, own, gain);
    const double information =
        std::max(gain * dot(own, own) - dot(u, u), 0.0);  // less is rounding
    const double score = gain * dot(own, rows.y) - dot(u, z);
    const double slope = points.self[i] - dot(u, h);
    const double mean = model.shift + dot(h, z);
    const double variance = unit * dot(h, h);
    out[0].mean[i] = mean;
    out[0].variance[i] = variance;
    out[0].log_weight[i] = stay;
    for (Eigen::Index q = 0; q < rule.value.size(); ++q) {
      const double v = rule.value[q];
      const double precision = v * information + 1 / particle.coef;
      NewMoments& joined = out[q + 1];
      joined.mean[i] = mean + v * slope * score / precision;
      joined.variance[i] = variance + unit * v * slope * slope / precision;
      joined.log_weight[i] = join + std::log(rule.probability[q]) -
                             0.5 * std::log(particle.coef * precision) +
                             0.5 * v * score * score / (precision * unit);
    }
  }
}

}  // namespace kernelbayes::srvm
