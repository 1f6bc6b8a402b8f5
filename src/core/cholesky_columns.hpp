// Further columns of a Cholesky factor R, at all of its rows: entries of G
// minus the part that earlier columns explain, divided by the pivot's root.
//
// Entries have the same bits whichever row they are in and whatever is computed
// with them: columns of R are subtracted in order, every row on lanes.
#pragma once

#include "panel_matrix.hpp"

namespace kernelbayes::cholesky_columns {

using Eigen::Index;
using tiles::Lanes;

// Q columns, from `first` on, in a panel. `pivots`, Q x (first + Q): the rows
// of R at the pivots, which end in their roots.
template <std::size_t... Q>
inline void solve_panel(PanelMatrix& factor, Index panel, Index first,
                        const double* values, Index stride,
                        const double* pivots, std::index_sequence<Q...>) {
  constexpr Index n_columns = sizeof...(Q);
  Lanes sum[n_columns];
  ((sum[Q] = Eigen::Map<const Lanes>(values + Q * stride)), ...);
  const double* row = pivots;
  for (Index l = 0; l < first; l += PanelMatrix::width) {
    const double* from = factor.panel(panel, l);
    const Index n = std::min(PanelMatrix::width, first - l);
    for (Index k = 0; k < n; ++k, from += tiles::n_lanes, row += n_columns) {
      const Lanes column = Eigen::Map<const Lanes>(from);
      ((sum[Q] -= column * row[Q]), ...);
    }
  }
  for (Index q = 0; q < n_columns; ++q, row += n_columns) {
    sum[q] /= row[q];
    Eigen::Map<Lanes>(factor.panel(panel, first + q)) = sum[q];
    for (Index s = q + 1; s < n_columns; ++s) sum[s] -= sum[q] * row[s];
  }
}

template <std::size_t Q>
void solve_panels(PanelMatrix& factor, Index panel,
                  const ConstMatrixRef& values, const Eigen::MatrixXd& pivots) {
  for (Index i = 0; i < values.rows(); i += tiles::n_lanes, ++panel) {
    solve_panel(factor, panel, pivots.cols() - Q, values.data() + i,
                values.outerStride(), pivots.data(),
                std::make_index_sequence<Q>());
  }
}

// In the panels from `panel` on; `values` are the entries of G for their rows
// and at most n_columns columns.
inline void solve(PanelMatrix& factor, Index panel,
                  const ConstMatrixRef& values, const Eigen::MatrixXd& pivots) {
  static_assert(tiles::n_columns == 4, "a case for each number of columns");
  switch (pivots.rows()) {
    case 1:
      return solve_panels<1>(factor, panel, values, pivots);
    case 2:
      return solve_panels<2>(factor, panel, values, pivots);
    case 3:
      return solve_panels<3>(factor, panel, values, pivots);
    default:
      return solve_panels<4>(factor, panel, values, pivots);
  }
}

}  // namespace kernelbayes::cholesky_columns
