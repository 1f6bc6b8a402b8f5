// Coefficients of groups for families without a latent normal form.
#include <cmath>

#include "core/bark/moves/moves.hpp"
#include "core/decompositions.hpp"
#include "glm_state.hpp"

namespace kernelbayes::bark {

namespace {

/// Of each group: sums over its rows.
struct GroupSums {
  std::vector<Eigen::MatrixXd> precision;  // z w z'
  Eigen::MatrixXd score;                   // z (g + w z'b), q x groups
};

GroupSums sum_groups(const Grouping& grouping,
                     const Likelihood::Derivatives& at,
                     const Eigen::MatrixXd& b) {
  const int q = grouping.size();
  GroupSums out{
      std::vector<Eigen::MatrixXd>(grouping.count, Eigen::MatrixXd::Zero(q, q)),
      Eigen::MatrixXd::Zero(q, grouping.count)};
  for (Eigen::Index i = 0; i < at.first.size(); ++i) {
    const int g = grouping.group[i];
    const Eigen::VectorXd z = grouping.z.row(i).transpose();
    out.precision[g] += at.minus_second[i] * z * z.transpose();
    out.score.col(g) +=
        (at.first[i] + at.minus_second[i] * z.dot(b.col(g))) * z;
  }
  return out;
}

/// The normal distribution of the coefficients of a group: its mean, and the
/// factor L of the precision.
struct Working {
  Eigen::VectorXd mean;
  Eigen::MatrixXd lower;
  bool ok;

  Working(const GroupSums& sums, int g, const Eigen::MatrixXd& inverse)
      : mean(sums.score.col(g)), lower(sums.precision[g] + inverse) {
    ok = linalg::factorise(lower);
    if (!ok) return;
    lower.triangularView<Eigen::Lower>().solveInPlace(mean);
    upper().solveInPlace(mean);
  }
  Eigen::TriangularView<const Eigen::Transpose<const Eigen::MatrixXd>,
                        Eigen::Upper>
  upper() const {
    return static_cast<const Eigen::MatrixXd&>(lower)
        .transpose()
        .triangularView<Eigen::Upper>();
  }
  Eigen::VectorXd draw(Rng& rng) const {
    Eigen::VectorXd out(mean.size());
    for (double& value : out) value = rng.normal();
    upper().solveInPlace(out);
    return out + mean;
  }
  double log_density(const Eigen::VectorXd& b) const {
    const Eigen::VectorXd off = upper() * (b - mean);
    return lower.diagonal().array().log().sum() - 0.5 * off.squaredNorm();
  }
};

Eigen::MatrixXd inverse_of(const Eigen::MatrixXd& sigma) {
  const Eigen::MatrixXd one =
      Eigen::MatrixXd::Identity(sigma.rows(), sigma.cols());
  return linalg::PositiveSolver(sigma).solve(one);
}

}  // namespace

void GlmState::move_groups(Rng& rng) {
  if (data_->terms.groupings.empty()) return;
  TermValues values = terms_.values();
  for (std::size_t k = 0; k < values.factors.size(); ++k) {
    const int factor = static_cast<int>(k);
    move_groups(factor, values, rng);
    for (int l = 0; l < data_->terms.groupings[k].size(); ++l) {
      scale_groups(factor, l, values, rng);
    }
  }
  draw_covariances(data_->terms, values, rng);
  terms_.set(std::move(values));
}

// (B119): groups have rows of their own and are accepted one by one.
void GlmState::move_groups(int factor, TermValues& values, Rng& rng) {
  const Grouping& grouping = data_->terms.groupings[factor];
  TermValues::Factor& current = values.factors[factor];
  const Eigen::MatrixXd inverse = inverse_of(current.sigma);
  const int groups = grouping.count;
  TermValues next = values;
  Eigen::MatrixXd& b = next.factors[factor].b;
  Eigen::VectorXd log_ratio = Eigen::VectorXd::Zero(groups);
  const GroupSums forth = sum_groups(grouping, at_, current.b);
  const auto log_prior = [&](const Eigen::VectorXd& v) {
    return -0.5 * v.dot(inverse * v);
  };
  for (int g = 0; g < groups; ++g) {
    const Working working(forth, g, inverse);
    if (!working.ok) continue;  // then that of the inverse move is not, either
    b.col(g) = working.draw(rng);
    log_ratio[g] = log_prior(b.col(g)) - log_prior(current.b.col(g)) -
                   working.log_density(b.col(g));
  }
  const Eigen::VectorXd step =
      terms_.weighted(next, factor) - terms_.weighted(values, factor);
  const Eigen::VectorXd fit = fit_ + step;
  const Derivatives at = likelihood_->derivatives(fit);
  const GroupSums back = sum_groups(grouping, at, b);
  const Eigen::VectorXd gain = likelihood_->each(fit) - likelihood_->each(fit_);
  for (Eigen::Index i = 0; i < gain.size(); ++i) {
    log_ratio[grouping.group[i]] += gain[i];
  }
  for (int g = 0; g < groups; ++g) {
    const Working working(back, g, inverse);
    const bool accepted =
        working.ok &&
        accept(log_ratio[g] + working.log_density(current.b.col(g)), rng);
    if (accepted) current.b.col(g) = b.col(g);
  }
  compute_fit(values);
}

// (B105) for any likelihood.
void GlmState::scale_groups(int factor, int l, TermValues& values, Rng& rng) {
  constexpr int kTries = 3;
  const Grouping& grouping = data_->terms.groupings[factor];
  TermValues::Factor& current = values.factors[factor];
  const double power = -(kGroupDf + grouping.size() - 1);
  Eigen::VectorXd part = terms_.weighted(values, factor, l);
  for (int t = 0; t < kTries; ++t) {
    const double move = std::exp2(1 - 5 * rng.uniform()) * rng.normal();
    const double grow = std::expm1(move);
    Eigen::VectorXd fit = fit_ + grow * part;
    Derivatives at = likelihood_->derivatives(fit);
    const double log_ratio =
        at.log_likelihood - at_.log_likelihood + power * move -
        kGroupDf / current.auxiliary[l] * inverse_of(current.sigma)(l, l) *
            std::expm1(-2 * move);
    if (!accept(log_ratio, rng)) continue;
    part *= 1 + grow;
    current.b.row(l) *= 1 + grow;
    current.sigma.row(l) *= 1 + grow;
    current.sigma.col(l) *= 1 + grow;
    take(std::move(fit), std::move(at));
  }
}

}  // namespace kernelbayes::bark
