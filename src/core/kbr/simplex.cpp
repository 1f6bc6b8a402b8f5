#include "simplex.hpp"

#include <algorithm>
#include <vector>

#include "../decompositions.hpp"

namespace kernelbayes {
namespace kbr {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kSteps = 200;
constexpr double kTolerance = 1e-9;  // of the slope, by the kernel mean's norm
constexpr double kSufficient = 1e-4, kLeastStep = 1e-10;

// Where the dual is a function of a, (K31).
struct Dual {
  Dual(const Features& features, const VectorXd& w, const VectorXd& mean,
       double ridge, VectorXd at)
      : a(std::move(at)) {
    const VectorXd forward = features * a;
    p = onto_simplex(w + forward / ridge);
    slope = a - mean + features.transpose() * p;
    value = 0.5 * a.squaredNorm() - a.dot(mean) + forward.dot(p) -
            0.5 * ridge * (p - w).squaredNorm();
  }

  VectorXd a, p, slope;
  double value;
};

// The rows of positive weight, less their mean.
MatrixXd centred_rows(const Features& features, const VectorXd& p) {
  std::vector<Index> rows;
  for (Index i = 0; i < p.size(); ++i) {
    if (p[i] > 0) rows.push_back(i);
  }
  MatrixXd out(rows.size(), features.cols());
  for (Index k = 0; k < out.rows(); ++k) out.row(k) = features.row(rows[k]);
  return out.rowwise() - out.colwise().mean();
}

// -(I + C'C / ridge)^-1 slope by the smaller of two systems, (K32) and (K33).
VectorXd newton_step(const MatrixXd& rows, const VectorXd& slope,
                     double ridge) {
  const bool few = rows.rows() < rows.cols();
  MatrixXd square = few ? MatrixXd(rows * rows.transpose()) : gram(rows);
  square.diagonal().array() += ridge;
  const linalg::PositiveSolver solver(square);
  if (!solver.ok()) return -slope;
  if (!few) return -ridge * solver.solve(slope);
  return rows.transpose() * solver.solve(VectorXd(rows * slope)) - slope;
}

}  // namespace

VectorXd onto_simplex(const VectorXd& v) {
  std::vector<double> sorted(v.data(), v.data() + v.size());
  std::sort(sorted.begin(), sorted.end(), std::greater<double>());
  double sum = 0, shift = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double level = (sum - 1) / static_cast<double>(k + 1);
    if (sorted[k] <= level) break;
    shift = level;
  }
  return (v.array() - shift).max(0.0).matrix();
}

Probability nearest_probability(const Features& features,
                                const VectorXd& weights, double ridge) {
  const VectorXd mean = features.transpose() * weights;
  const auto at = [&](VectorXd a) {
    return Dual(features, weights, mean, ridge, std::move(a));
  };
  Dual here = at(VectorXd::Zero(features.cols()));
  for (int k = 0; k < kSteps; ++k) {
    if (here.slope.norm() <= kTolerance * mean.norm()) break;
    const VectorXd step =
        newton_step(centred_rows(features, here.p), here.slope, ridge);
    const double descent = kSufficient * step.dot(here.slope);
    double length = 1;
    Dual next = at(here.a + step);
    while (next.value > here.value + length * descent && length > kLeastStep) {
      length /= 2;
      next = at(here.a + length * step);
    }
    if (length <= kLeastStep) break;  // rounding
    here = std::move(next);
  }
  const VectorXd gap = features.transpose() * (here.p - weights);
  return {here.p, gap.norm()};
}

}  // namespace kbr
}  // namespace kernelbayes
