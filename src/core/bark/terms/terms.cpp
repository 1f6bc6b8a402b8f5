#include "terms.hpp"

#include <algorithm>
#include <map>

#include "core/archive.hpp"
#include "core/decompositions.hpp"

namespace kernelbayes::bark {

namespace {

// Does each group of one lie in a single group of the other?
bool nested(const Grouping& one, const Grouping& other) {
  std::vector<int> in(one.count, -1);
  for (std::size_t i = 0; i < one.group.size(); ++i) {
    int& outer = in[one.group[i]];
    if (outer >= 0 && outer != other.group[i]) return false;
    outer = other.group[i];
  }
  return true;
}

// The number of groups with rows: in a chain, it determines the order.
int with_rows(const Grouping& grouping) {
  std::vector<char> seen(grouping.count, 0);
  for (const int group : grouping.group) seen[group] = 1;
  return static_cast<int>(std::count(seen.begin(), seen.end(), 1));
}

// Sets of factors each of which is nested in the next: one for each factor that
// is in none of those before.
std::vector<std::vector<int>> nested_chains(const std::vector<Grouping>& all) {
  const int count = static_cast<int>(all.size());
  std::vector<std::vector<int>> chains;
  std::vector<char> covered(count, 0);
  for (int first = 0; first < count; ++first) {
    if (covered[first]) continue;
    std::vector<int> chain{first};
    for (int other = 0; other < count; ++other) {
      if (other == first) continue;
      const auto fits = [&](int member) {
        return nested(all[member], all[other]) ||
               nested(all[other], all[member]);
      };
      if (std::all_of(chain.begin(), chain.end(), fits)) chain.push_back(other);
    }
    std::stable_sort(chain.begin(), chain.end(), [&all](int a, int b) {
      return with_rows(all[a]) > with_rows(all[b]);
    });
    for (const int member : chain) covered[member] = 1;
    chains.push_back(std::move(chain));
  }
  return chains;
}

// L of LL' = sigma. Eigen's would be compiled here once more, for a few
// numbers.
Eigen::MatrixXd cholesky(const Eigen::MatrixXd& sigma) {
  const Eigen::Index q = sigma.rows();
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(q, q);
  for (Eigen::Index j = 0; j < q; ++j) {
    for (Eigen::Index i = j; i < q; ++i) {
      double left = sigma(i, j);
      for (Eigen::Index k = 0; k < j; ++k) left -= out(i, k) * out(j, k);
      out(i, j) = i == j ? std::sqrt(left) : left / out(j, j);
    }
  }
  return out;
}

}  // namespace

void TermData::add_slopes(const Eigen::MatrixXd& x, double scale) {
  if (scale == 0) return;
  const Eigen::Index q = linear.cols(), p = x.cols();
  slopes = static_cast<int>(p);
  slope_scale = scale;
  linear.conservativeResize(x.rows(), q + p);
  linear.rightCols(p) = x;
  linear_sd.conservativeResize(q + p);
  linear_sd.tail(p).setConstant(scale);
  if (linear_mean.size() == 0) return;
  linear_mean.conservativeResize(q + p);
  linear_mean.tail(p).setZero();
}

// (B100), the auxiliary variable drawn first.
void SlopeSd::draw(double squares, Rng& rng) {
  const double rate = kGroupDf / (value_ * value_) + 1 / (scale_ * scale_);
  const double inverse = rng.gamma((kGroupDf + 1) / 2) / rate;
  value_ = std::sqrt((kGroupDf * inverse + squares / 2) /
                     rng.gamma((kGroupDf + slopes_) / 2));
}

void SlopeSd::draw_prior(Rng& rng) {
  value_ = scale_ * std::abs(rng.normal()) /
           std::sqrt(rng.gamma(kGroupDf / 2) / (kGroupDf / 2));
}

// Steps have random lengths.
SlopeSd::Stretch SlopeSd::propose(Rng& rng) const {
  const double move = std::exp2(1 - 5 * rng.uniform()) * rng.normal();
  const double grow = std::expm1(move);
  return {grow, move + log_prior(value_ * (1 + grow)) - log_prior(value_)};
}

double SlopeSd::log_prior(double value) const {
  const double scaled = value / scale_;
  return -0.5 * (kGroupDf + 1) * std::log1p(scaled * scaled / kGroupDf);
}

Terms::Terms(const TermData& data)
    : data_(&data), chains_(nested_chains(data.groupings)) {
  values_.gamma = Eigen::VectorXd::Zero(data.linear.cols());
  values_.slope_sd = data.slope_scale;
  for (const Grouping& grouping : data.groupings) {
    const Eigen::VectorXd variance = grouping.scale.cwiseAbs2();
    values_.factors.push_back(
        {Eigen::MatrixXd::Zero(grouping.size(), grouping.count),
         0.25 * Eigen::MatrixXd(variance.asDiagonal()), variance});
  }
}

void Terms::turn() {
  if (!chains_.empty()) turn_ = (turn_ + 1) % static_cast<int>(chains_.size());
}

bool Terms::is_active(int factor) const {
  const std::vector<int>& chain = chains_[turn_];
  return std::find(chain.begin(), chain.end(), factor) != chain.end();
}

namespace {

// `only`: -1 for all coefficients.
void add_groups(const Grouping& grouping, const Eigen::MatrixXd& b,
                Eigen::VectorXd& out, int only = -1) {
  for (int l = 0; l < grouping.size(); ++l) {
    if (only >= 0 && l != only) continue;
    for (Eigen::Index i = 0; i < out.size(); ++i) {
      out[i] += grouping.z(i, l) * b(l, grouping.group[i]);
    }
  }
}

}  // namespace

Eigen::VectorXd Terms::fit(const TermValues& values) const {
  Eigen::VectorXd out = data_->linear * values.gamma;
  for (std::size_t k = 0; k < data_->groupings.size(); ++k) {
    add_groups(data_->groupings[k], values.factors[k].b, out);
  }
  return out;
}

Eigen::VectorXd Terms::weighted(const TermValues& values, int factor,
                                int coefficient) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(data_->linear.rows());
  add_groups(data_->groupings[factor], values.factors[factor].b, out,
             coefficient);
  return weigh(std::move(out));
}

Eigen::VectorXd Terms::linear_sd(const TermValues& values) const {
  Eigen::VectorXd out = data_->linear_sd;
  out.tail(data_->slopes).setConstant(std::sqrt(amplitude_) * values.slope_sd);
  return out;
}

Eigen::VectorXd Terms::weighted_slopes(const TermValues& values) const {
  const int p = data_->slopes;
  return weigh(data_->linear.rightCols(p) * values.gamma.tail(p));
}

Eigen::VectorXd Terms::shift() const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(data_->linear.rows());
  for (std::size_t k = 0; k < data_->groupings.size(); ++k) {
    if (is_active(static_cast<int>(k))) continue;
    add_groups(data_->groupings[k], values_.factors[k].b, out);
  }
  return out;
}

Eigen::MatrixXd Terms::weigh(Eigen::MatrixXd columns) const {
  if (root_weights_.size() > 0) {
    columns.array().colwise() *= root_weights_.array();
  }
  return columns;
}

Whitening Terms::block(int factor, Eigen::MatrixXd u) const {
  const Grouping& grouping = data_->groupings[factor];
  return {&grouping.group, grouping.count, std::move(u),
          std::sqrt(noise_) * cholesky(values_.factors[factor].sigma)};
}

// (B101): each factor in the metric of those before, which leaves columns of a
// factor within its groups because they are nested.
void Terms::build(const Eigen::VectorXd& root_weights, double noise,
                  bool integrate) {
  root_weights_ = root_weights;
  noise_ = noise;
  blocks_.clear();
  if (!integrate) return;
  const auto next = [this](const Eigen::MatrixXd& columns) {
    Eigen::MatrixXd u = weigh(columns);
    apply(u);
    return u;
  };
  if (!chains_.empty()) {
    for (const int k : chains_[turn_]) {
      blocks_.push_back(block(k, next(data_->groupings[k].z)));
    }
  }
  if (data_->linear.cols() > 0) {
    const Eigen::MatrixXd factor =
        (std::sqrt(noise) * linear_sd()).asDiagonal();
    blocks_.emplace_back(nullptr, 1, next(data_->linear), factor);
  }
}

void Terms::apply(Eigen::Ref<Eigen::MatrixXd> columns) const {
  for (const Whitening& block : blocks_) block.apply(columns);
}

void Terms::undo(Eigen::Ref<Eigen::VectorXd> column) const {
  for (std::size_t k = blocks_.size(); k-- > 0;) blocks_[k].undo(column);
}

double Terms::log_determinant() const {
  double sum = 0;
  for (const Whitening& block : blocks_) sum += block.log_determinant();
  return sum;
}

// (B103): the last one given the residuals in the metric of those before.
TermValues Terms::draw(Eigen::VectorXd& residuals, Rng& rng) const {
  TermValues out = values_;
  const double root = std::sqrt(noise_);
  for (std::size_t k = blocks_.size(); k-- > 0;) {
    Eigen::VectorXd seen = root * residuals;
    for (std::size_t j = 0; j < k; ++j) blocks_[j].apply(seen);
    const Eigen::MatrixXd c = blocks_[k].draw(seen, rng) / root;
    const std::size_t chained = chains_.empty() ? 0 : chains_[turn_].size();
    if (k < chained) {
      const int factor = chains_[turn_][k];
      out.factors[factor].b = c;
      residuals -= weighted(out, factor);
    } else {
      out.gamma = c.col(0);
      residuals -= weigh(data_->linear * out.gamma);
    }
  }
  return out;
}

void Terms::subtract_active(const TermValues& values,
                            Eigen::VectorXd& residuals) const {
  residuals -= weigh(data_->linear * values.gamma);
  for (int k = 0; k < static_cast<int>(data_->groupings.size()); ++k) {
    if (is_active(k)) residuals -= weighted(values, k);
  }
}

void Terms::draw_inactive(Eigen::VectorXd& residuals, TermValues& values,
                          Rng& rng) const {
  const double root = std::sqrt(noise_);
  for (int k = 0; k < static_cast<int>(data_->groupings.size()); ++k) {
    if (is_active(k)) continue;
    residuals += weighted(values, k);
    values.factors[k].b =
        block(k, weigh(data_->groupings[k].z)).draw(root * residuals, rng) /
        root;
    residuals -= weighted(values, k);
  }
}

// Covariances
// ------------------------------------------------------------------

namespace {

// From the inverse Wishart distribution with scale matrix `scale`: its inverse
// is LAA'L', the scale's inverse LL', A lower triangular (Bartlett).
Eigen::MatrixXd draw_inverse_wishart(double df, const Eigen::MatrixXd& scale,
                                     Rng& rng) {
  const Eigen::Index q = scale.rows();
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(q, q);
  for (Eigen::Index j = 0; j < q; ++j) {
    a(j, j) = std::sqrt(2 * rng.gamma((df - static_cast<double>(j)) / 2));
    for (Eigen::Index i = j + 1; i < q; ++i) a(i, j) = rng.normal();
  }
  // scale = CC', so that L = C'^-1 satisfies LL' = scale^-1, and the draw is
  // (C A'^-1)(C A'^-1)'.
  const Eigen::MatrixXd c = cholesky(scale);
  const Eigen::MatrixXd half =
      a.triangularView<Eigen::Lower>().solve(c.transpose());
  return half.transpose() * half;
}

}  // namespace

void draw_covariances(const TermData& data, TermValues& values, Rng& rng) {
  for (std::size_t k = 0; k < data.groupings.size(); ++k) {
    const Grouping& grouping = data.groupings[k];
    TermValues::Factor& factor = values.factors[k];
    const int q = grouping.size();
    const Eigen::MatrixXd inverse =
        linalg::PositiveSolver(factor.sigma)
            .solve(Eigen::MatrixXd(Eigen::MatrixXd::Identity(q, q)));
    for (int l = 0; l < q; ++l) {
      const double rate = kGroupDf * inverse(l, l) +
                          1 / (grouping.scale[l] * grouping.scale[l]);
      factor.auxiliary[l] = rate / rng.gamma((kGroupDf + q) / 2);
    }
    Eigen::MatrixXd scale = factor.b * factor.b.transpose();
    scale.diagonal() += 2 * kGroupDf * factor.auxiliary.cwiseInverse();
    factor.sigma =
        draw_inverse_wishart(kGroupDf + q - 1 + grouping.count, scale, rng);
  }
}

TermValues Terms::draw_prior(Rng& rng) const {
  TermValues out = values_;
  if (data_->slopes > 0) {
    SlopeSd sd(*data_, out.slope_sd);
    sd.draw_prior(rng);
    out.slope_sd = sd.value();
  }
  for (double& value : out.gamma) value = rng.normal();
  out.gamma.array() *= linear_sd(out).array();
  for (std::size_t k = 0; k < data_->groupings.size(); ++k) {
    const Grouping& grouping = data_->groupings[k];
    TermValues::Factor& factor = out.factors[k];
    const int q = grouping.size();
    for (int l = 0; l < q; ++l) {
      factor.auxiliary[l] =
          1 / (grouping.scale[l] * grouping.scale[l] * rng.gamma(0.5));
    }
    const Eigen::MatrixXd scale =
        (2 * kGroupDf * factor.auxiliary.cwiseInverse()).asDiagonal();
    factor.sigma = draw_inverse_wishart(kGroupDf + q - 1, scale, rng);
    for (double& value : factor.b.reshaped()) value = rng.normal();
    factor.b = cholesky(factor.sigma) * factor.b;
  }
  return out;
}

// Storage
// ----------------------------------------------------------------------

void Terms::transfer(Archive& archive) {
  archive("turn", turn_,
          Want::between(0, std::max(static_cast<int>(chains_.size()), 1) - 1));
  archive("gamma", values_.gamma, Want::of(data_->linear.cols()));
  archive.optional(data_->slopes > 0, "slope_sd", values_.slope_sd,
                   Want::positive());
  archive.list("factors", values_.factors.size(),
               [this](Archive& list, std::size_t k) {
                 TermValues::Factor& factor = values_.factors[k];
                 const int q = data_->groupings[k].size();
                 list("b", factor.b, q, data_->groupings[k].count);
                 list("sigma", factor.sigma, q, q);
                 list("auxiliary", factor.auxiliary, Want::positive(q));
               });
}

}  // namespace kernelbayes::bark
