// Several pivots of a Cholesky factor at once, with the same result as one by
// one: each is the point with the largest residual, chosen among a few
// candidates. Residuals only decrease, so the largest among the candidates is
// the largest of all as long as it exceeds the initial residuals of all other
// points.
#pragma once

#include <functional>

#include "cholesky_columns.hpp"

namespace kernelbayes::pivoting {

using Eigen::Index;
using Eigen::VectorXd;
using Indices = std::vector<Index>;

// Residuals of at least this share of the largest tie with it.
constexpr double tie = 1 - 1e-12;
// A number that is larger by this factor does not tie.
constexpr double beyond_tie = 1 + 2e-12;

// Among ties for the largest residual, the first in precedence.
inline Index choose(const VectorXd& residual, const Indices& place) {
  const double least = residual.maxCoeff() * tie;
  Index best = -1;
  for (Index i = 0; i < residual.size(); ++i) {
    if (residual[i] >= least && (best < 0 || place[i] < place[best])) best = i;
  }
  return best;
}

// The first choice among the candidates is the choice among all points, and so
// are later ones as long as the largest remaining residual is at least `least`.
struct Candidates {
  Indices rows;
  VectorXd residual;
  Indices place;
  double least;

  Candidates(const Indices& chosen, const VectorXd& residuals,
             const Indices& places, double least)
      : rows(chosen),
        residual(chosen.size()),
        place(chosen.size()),
        least(least) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      residual[i] = residuals[rows[i]];
      place[i] = places[rows[i]];
    }
  }
};

// About the k-th largest value, from a sample.
inline double upper_quantile(const VectorXd& values, Index k) {
  const Index n = values.size(), step = std::max<Index>(1, n / 2048);
  std::vector<double> sample;
  for (Index i = 0; i < n; i += step) sample.push_back(values[i]);
  const auto at = sample.begin() + std::min<Index>(k / step, sample.size() - 1);
  std::nth_element(sample.begin(), at, sample.end(), std::greater<double>());
  return *at;
}

template <class Condition>
Indices rows_where(const VectorXd& values, const Condition& condition) {
  Indices rows;
  for (Index i = 0; i < values.size(); ++i) {
    if (condition(values[i])) rows.push_back(i);
  }
  return rows;
}

// The ties for the largest residual, the first `wanted` in precedence: no other
// point starts to tie as long as the largest does not change.
inline Candidates nominate_tied(const VectorXd& residual, const Indices& place,
                                Index wanted) {
  const double largest = residual.maxCoeff();
  Indices rows =
      rows_where(residual, [&](double r) { return r >= largest * tie; });
  if (static_cast<Index>(rows.size()) > wanted) {
    std::nth_element(rows.begin(), rows.begin() + wanted, rows.end(),
                     [&](Index a, Index b) { return place[a] < place[b]; });
    rows.resize(wanted);
  }
  return {rows, residual, place, largest};
}

// About `wanted` points of the largest residuals.
inline Candidates nominate(const VectorXd& residual, const Indices& place,
                           Index wanted) {
  const double bound = upper_quantile(residual, wanted);
  const Indices rows =
      rows_where(residual, [&](double r) { return r > bound; });
  const double least = bound * beyond_tie;
  if (residual.maxCoeff() < least ||
      static_cast<Index>(rows.size()) > 4 * wanted) {
    return nominate_tied(residual, place, wanted);
  }
  return {rows, residual, place, least};
}

// Pivots, and the factor's rows there up to the root of the pivot's residual.
struct Block {
  Indices pivots;
  std::vector<std::vector<double>> rows;

  Index size() const { return pivots.size(); }

  // Some of the rows as cholesky_columns::solve() takes them.
  Eigen::MatrixXd group(Index first, Index count) const {
    Eigen::MatrixXd result =
        Eigen::MatrixXd::Zero(count, rows[first + count - 1].size());
    for (Index q = 0; q < count; ++q) {
      const std::vector<double>& row = rows[first + q];
      for (std::size_t l = 0; l < row.size(); ++l) result(q, l) = row[l];
    }
    return result;
  }
};

// Pivots among the candidates, at most `limit`, of residuals above `floor`.
template <class Source>
Block block_among(Candidates candidates, const Source& source,
                  const PanelMatrix& factor, Index limit, double floor) {
  const Index n = candidates.rows.size();
  VectorXd& residual = candidates.residual;
  PanelMatrix local = factor.rows_at(candidates.rows);
  Eigen::MatrixXd values = Eigen::MatrixXd::Zero(PanelMatrix::padded(n), 1);
  Block block;
  while (block.size() < limit) {
    if (block.size() > 0 && residual.maxCoeff() < candidates.least) break;
    const Index best = choose(residual, candidates.place);
    if (!(residual[best] > floor)) break;
    const Index pivot = candidates.rows[best];
    block.pivots.push_back(pivot);
    block.rows.push_back(local.row(best));
    block.rows.back().push_back(std::sqrt(residual[best]));
    source.block(candidates.rows, {pivot}, values.topRows(n));
    local.add_columns(1);
    cholesky_columns::solve(local, 0, values, block.group(block.size() - 1, 1));
    local.subtract_squares(local.cols() - 1, 0, residual);
    residual[best] = 0;
  }
  return block;
}

}  // namespace kernelbayes::pivoting
