// The start of chains on many rows.
#include "sweep.hpp"

namespace kernelbayes {
namespace bark {

namespace {

Eigen::MatrixXd pick(const Eigen::MatrixXd& from,
                     const std::vector<int>& rows) {
  Eigen::MatrixXd out(rows.size(), from.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) out.row(i) = from.row(rows[i]);
  return out;
}

TermData rows_of(const TermData& terms, const std::vector<int>& rows) {
  TermData out = terms;
  out.linear = pick(terms.linear, rows);
  if (terms.offset.size() > 0) out.offset = pick(terms.offset, rows);
  for (std::size_t k = 0; k < out.groupings.size(); ++k) {
    const Grouping& from = terms.groupings[k];
    Grouping& to = out.groupings[k];
    to.z = pick(from.z, rows);
    to.group.clear();
    for (const int row : rows) to.group.push_back(from.group[row]);
  }
  return out;
}

Data rows_of(const Data& data, const std::vector<int>& rows) {
  Data out = data;
  out.x = pick(data.x, rows);
  out.y = pick(data.y, rows);
  out.weights = pick(data.weights, rows);
  if (data.terms.any()) out.terms = rows_of(data.terms, rows);
  return out;
}

// A different one from each of `count` stretches of the rows.
std::vector<int> choose_rows(int n, int count, Rng& rng) {
  std::vector<int> out;
  for (int k = 0; k < count; ++k) {
    const double from = double(n) * k / count, to = double(n) * (k + 1) / count;
    const int first = static_cast<int>(from), last = static_cast<int>(to);
    out.push_back(first + static_cast<int>(rng.index(last - first)));
  }
  return out;
}

}  // namespace

void start_on_subset(State& state, Rng& rng) {
  constexpr int kRows = 2000, kSweeps = 200;
  const Data& data = state.data();
  if (!backfits(data, state.prior()) || data.n() < 2 * kRows) return;
  const std::vector<int> rows = choose_rows(data.n(), kRows, rng);
  Data few = rows_of(data, rows);
  few.many_rows = kRows + 1;
  Prior prior = state.prior();
  prior.centres = CentrePrior();
  State small(few, prior);
  draw_start(small, rng);
  Sweep sweep(prior, few);
  Counts counts;
  for (int i = 0; i < kSweeps; ++i) sweep.full(small, 1, true, counts, rng);
  std::vector<Slot> slots;
  for (int j = 0; j < small.size(); ++j) {
    slots.push_back(small.slot(j));
    int& location = slots.back().location;
    if (location > 0) location = rows[location - 1] + 1;
  }
  if (prior.pooled) state.set_pool(small.pool());
  state.assign(std::move(slots), small.log_lambda(), small.included(),
               small.noise());
}

}  // namespace bark
}  // namespace kernelbayes
