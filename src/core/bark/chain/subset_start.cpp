// The start of chains on many rows.
#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>

#include "sweep.hpp"

namespace kernelbayes::bark {

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

Data rows_of(const Data& data, const std::vector<int>& rows, int many_rows) {
  Data out = data;
  out.many_rows = many_rows;
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

// The prior with centres among some rows, as probable as among all; equally
// probable if there are none.
Prior prior_of(const Prior& prior, const std::vector<int>& rows, int n) {
  Prior out = prior;
  if (prior.centres.uniform()) return out;
  const double more = double(n) / static_cast<double>(rows.size());
  std::vector<double> weights{prior.centres.probability(0, n)};
  for (const int row : rows) {
    weights.push_back(more * prior.centres.probability(row + 1, n));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  out.centres = sum > 0 ? CentrePrior(weights) : CentrePrior();
  return out;
}

// A model of some rows of another, and its state, which refers to the rest.
struct Part {
  std::vector<int> rows;
  Data data;
  Prior prior;
  State state;
  Part(const State& whole, std::vector<int> some, int many_rows)
      : rows(std::move(some)),
        data(rows_of(whole.data(), rows, many_rows)),
        prior(prior_of(whole.prior(), rows, whole.data().n())),
        state(data, prior) {}
  Part(const Part&) = delete;
};

// Gives a state the kernels of that of some of its rows, but for those that its
// prior excludes.
void hand_on(const State& some, const std::vector<int>& rows, State& state) {
  std::vector<Slot> slots;
  const CentrePrior& centres = state.prior().centres;
  for (int j = 0; j < some.size(); ++j) {
    Slot slot = some.slot(j);
    if (slot.location > 0) slot.location = rows[slot.location - 1] + 1;
    if (slot.location >= 0 &&
        centres.probability(slot.location, state.data().n()) == 0) {
      continue;
    }
    slots.push_back(std::move(slot));
  }
  if (state.prior().pooled) state.set_pool(some.pool());
  if (state.data().student()) state.set_df(some.df());
  state.assign(std::move(slots), some.log_lambda(), some.included(),
               some.noise());
}

void sweep_often(State& state, int sweeps, Rng& rng) {
  Sweep sweep(state.prior(), state.data());
  Counts counts;
  for (int i = 0; i < sweeps; ++i) sweep.full(state, 1, true, counts, rng);
}

// Where `rows`, in increasing order, are among `all` of them.
std::vector<int> positions(const std::vector<int>& rows,
                           const std::vector<int>& all) {
  std::vector<int> out;
  for (const int row : rows) {
    out.push_back(static_cast<int>(
        std::lower_bound(all.begin(), all.end(), row) - all.begin()));
  }
  return out;
}

std::vector<int> join(const std::vector<int>& one,
                      const std::vector<int>& other) {
  std::vector<int> out;
  std::set_union(one.begin(), one.end(), other.begin(), other.end(),
                 std::back_inserter(out));
  return out;
}

}  // namespace

void start_on_subset(State& state, Rng& rng) {
  constexpr int kFirst = 2000, kMore = 4, kFirstSweeps = 200, kSweeps = 100;
  const int n = state.data().n();
  if (!backfits(state.data(), state.prior()) || n < 2 * kFirst) return;
  auto part =
      std::make_unique<Part>(state, choose_rows(n, kFirst, rng), kFirst + 1);
  draw_start(part->state, rng);
  sweep_often(part->state, kFirstSweeps, rng);
  for (int count = kMore * kFirst; 2 * count <= n; count *= kMore) {
    auto larger = std::make_unique<Part>(
        state, join(part->rows, choose_rows(n, count, rng)), 1);
    hand_on(part->state, positions(part->rows, larger->rows), larger->state);
    part = std::move(larger);
    sweep_often(part->state, kSweeps, rng);
  }
  hand_on(part->state, part->rows, state);
}

}  // namespace kernelbayes::bark
