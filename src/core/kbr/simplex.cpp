#include "simplex.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/decompositions.hpp"

namespace kernelbayes::kbr {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kSteps = 200;
// Of the slope, by the norm of the kernel mean; while the ridge shrinks, at
// last.
constexpr double kRough = 1e-2, kTolerance = 1e-9;
constexpr double kFirst = 0.1, kShrink = 0.1;  // of the ridge, by |R|^2
constexpr double kSufficient = 1e-4, kLeastStep = 1e-10;

// The dual at a, its slope and the probability there, (K31).
struct Point {
  VectorXd a, p, slope;
  double value;
};

struct Dual {
  Point at(VectorXd a) const {
    const VectorXd forward = features * a;
    VectorXd p = onto_simplex(w + forward / ridge);
    VectorXd slope = a - mean + features.transpose() * p;
    const double value = 0.5 * a.squaredNorm() - a.dot(mean) + forward.dot(p) -
                         0.5 * ridge * (p - w).squaredNorm();
    return {std::move(a), std::move(p), std::move(slope), value};
  }

  const Features& features;
  const VectorXd &w, &mean;
  double ridge;
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

// -(I + C'C / ridge)^-1 slope by the smaller of two systems, (K32), (K33).
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

Point minimise(const Dual& dual, VectorXd start, double tolerance) {
  Point here = dual.at(std::move(start));
  const double small = tolerance * dual.mean.norm();
  for (int k = 0; k < kSteps && here.slope.norm() > small; ++k) {
    const VectorXd step = newton_step(centred_rows(dual.features, here.p),
                                      here.slope, dual.ridge);
    const double descent = kSufficient * step.dot(here.slope);
    double length = 1;
    Point next = dual.at(here.a + step);
    while (next.value > here.value + length * descent && length > kLeastStep) {
      length /= 2;
      next = dual.at(here.a + length * step);
    }
    if (length <= kLeastStep) break;  // rounding
    here = std::move(next);
  }
  return here;
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

// A small ridge makes p a steep function of a: the ridge shrinks in steps. If a
// shrinks with it, p stays.
Probability nearest_probability(const Features& features,
                                const VectorXd& weights, double ridge) {
  const VectorXd mean = features.transpose() * weights;
  Dual dual{features, weights, mean,
            std::max(ridge, kFirst * features.squaredNorm())};
  Point best{VectorXd::Zero(features.cols()), {}, {}, 0};
  for (;;) {
    const bool last = dual.ridge <= ridge;
    best = minimise(dual, best.a, last ? kTolerance : kRough);
    if (last) break;
    const double next = std::max(ridge, kShrink * dual.ridge);
    best.a *= next / dual.ridge;
    dual.ridge = next;
  }
  const VectorXd gap = features.transpose() * (best.p - weights);
  return {best.p / best.p.sum(), gap.norm()};
}

namespace {

struct Pool {
  double sum;
  Eigen::Index size;
  double mean() const { return sum / static_cast<double>(size); }
};

}  // namespace

Eigen::VectorXd isotonic(const Eigen::Ref<const Eigen::VectorXd>& values) {
  std::vector<Pool> pools;
  for (const double value : values) {
    Pool last{value, 1};
    while (!pools.empty() && pools.back().mean() >= last.mean()) {
      last.sum += pools.back().sum;
      last.size += pools.back().size;
      pools.pop_back();
    }
    pools.push_back(last);
  }
  Eigen::VectorXd out(values.size());
  Eigen::Index at = 0;
  for (const Pool& pool : pools) {
    out.segment(at, pool.size).setConstant(pool.mean());
    at += pool.size;
  }
  return out;
}

}  // namespace kernelbayes::kbr
