#include "guess.hpp"

#include <Eigen/Cholesky>
#include <cmath>

namespace kernelbayes {
namespace kgs {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Index count_of(const Noise& noise) {
  return noise.kind == Noise::kFixed     ? 0
         : noise.kind == Noise::kByClass ? 2
                                         : 1;
}

void accumulate(MatrixXd& sum, const MatrixXd& term) {
  if (sum.size() == 0) sum = MatrixXd::Zero(term.rows(), term.cols());
  sum += term;
}

VectorXd flat(const MatrixXd& m) {
  return Eigen::Map<const VectorXd>(m.data(), m.size());
}

}  // namespace

VectorXd logits_of(const Rates& rates, double bound) {
  const Eigen::Map<const VectorXd> at(rates.data(), rates.size());
  return (at.array() / (bound - at.sum())).log();
}

Rates rates_of(const VectorXd& logits, double bound) {
  const VectorXd odds = logits.array().exp();
  Rates out(logits.size());
  Eigen::Map<VectorXd>(out.data(), odds.size()) =
      bound * odds / (1 + odds.sum());
  return out;
}

Guess::Guess(const NoisyModel& model)
    : learns_scale(model.learns_scale),
      sites(model.sites),
      proposal(model.proposal),
      log_s(model.learns_scale ? model.start_log_s : model.log_s) {
  const Index scale = model.learns_scale ? 1 : 0;
  const Index n = scale + count_of(model.noise);
  root = 0.5 * MatrixXd::Identity(n, n);
  if (scale > 0) root(0, 0) = std::max(model.start_sd, 0.05);
  follow = MatrixXd::Zero(n, proposal.centre.size());
  if (scale > 0) follow.row(0) = proposal.slope.transpose();
  drift = MatrixXd::Zero(model.labels.size() * model.labels.functions(), n);
}

void Guess::transfer(Archive& archive) {
  archive("precision", sites.precision, Want::positive(sites.precision.size()));
  archive("pull", sites.pull, sites.pull.rows(), sites.pull.cols());
  archive("drift", drift, drift.rows(), drift.cols());
  archive("centre", proposal.centre, Want::of(proposal.centre.size()));
  archive("follow", follow, follow.rows(), follow.cols());
  archive("root", proposal.root, proposal.root.rows(), proposal.root.cols());
  archive("expected_log_s", log_s);
  archive("line_root", root, root.rows(), root.cols());
}

void Averages::add(const NoisyModel& model, const VectorXd& x, double log_s,
                   const Rates& rates, const MatrixXd& eta) {
  constexpr double kStep = 1e-2;
  const NoisyLabels& labels = model.labels;
  const Index n_rates = count_of(model.noise), scale = model.learns_scale;
  const double bound = n_rates == 2 ? 1 : rate_bound(labels.classes());
  const VectorXd logits = n_rates == 0 ? VectorXd() : logits_of(rates, bound);
  MatrixXd slope, changed;
  double ignored;
  labels.value(eta, rates, slope, ignored);
  const VectorXd precision = labels.information(eta, rates);

  VectorXd theta(x.size() + scale + n_rates);
  MatrixXd drift(eta.size(), scale + n_rates);
  theta.head(x.size()) = x;
  if (scale > 0) {
    theta[x.size()] = log_s;
    drift.col(0) = flat(slope - precision.asDiagonal() * eta);
  }
  theta.tail(n_rates) = logits;
  for (Index c = 0; c < n_rates; ++c) {
    VectorXd near = logits;
    near[c] += kStep;
    labels.value(eta, rates_of(near, bound), changed, ignored);
    drift.col(scale + c) = flat(changed - slope) / kStep;
  }
  if (count_++ == 0) {
    sum_ = VectorXd::Zero(theta.size());
    precision_ = VectorXd::Zero(precision.size());
  }
  sum_ += theta;
  precision_ += precision;
  accumulate(squares_, theta * theta.transpose());
  accumulate(eta_, eta);
  accumulate(slope_, slope);
  accumulate(drift_, drift);
}

void Averages::improve(Guess& guess) {
  // Weights of the old guess, in draws.
  constexpr double kOld = 100, kOldSlope = 10;
  if (count_ == 0) return;
  guess.sites.precision = precision_ / count_;
  guess.sites.pull =
      (guess.sites.precision.asDiagonal() * eta_ + slope_) / count_;
  guess.drift = drift_ / count_;

  const VectorXd mean = sum_ / count_;
  const Index n = guess.proposal.centre.size(), k = guess.root.rows();
  const MatrixXd spread = squares_ - count_ * mean * mean.transpose();
  const MatrixXd eye = MatrixXd::Identity(n, n);
  const MatrixXd of_x = spread.topLeftCorner(n, n);
  const MatrixXd across = spread.bottomLeftCorner(k, n);
  const MatrixXd follow =
      (of_x + kOldSlope * eye)
          .llt()
          .solve((across + kOldSlope * guess.follow).transpose())
          .transpose();
  MatrixXd rest =
      spread.bottomRightCorner(k, k) + follow * of_x * follow.transpose();
  rest -= follow * across.transpose() + across * follow.transpose();
  rest += kOld * guess.root * guess.root.transpose();
  const double weight = count_ + kOld;
  const MatrixXd shape = ((of_x + kOld * eye) / weight).llt().matrixL();
  guess.proposal.centre += guess.proposal.root * mean.head(n);
  guess.proposal.root *= shape;
  guess.follow = follow * shape;
  guess.root = (rest / weight).llt().matrixL();
  if (guess.learns_scale) guess.log_s = mean[n];
  *this = Averages();
}

void Averages::transfer(Archive& archive) {
  archive("averaged", count_, Want::tally());
  if (count_ == 0) return;
  archive("sum", sum_);
  archive("precisions", precision_);
  archive("squares", squares_);
  archive("etas", eta_);
  archive("slopes", slope_);
  archive("drifts", drift_);
}

}  // namespace kgs
}  // namespace kernelbayes
