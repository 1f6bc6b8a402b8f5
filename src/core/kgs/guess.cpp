#include "guess.hpp"

#include <Eigen/Cholesky>
#include <cmath>

namespace kernelbayes::kgs {

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
    : normals(model.sites.of_all(model.labels)),
      proposal(model.proposal),
      log_s(model.learns_scale ? model.start_log_s : model.log_s) {
  const Index scale = model.learns_scale ? 1 : 0;
  const Index n = scale + count_of(model.noise);
  root = 0.5 * MatrixXd::Identity(n, n);
  if (scale > 0) root(0, 0) = std::max(model.start_sd, 0.05);
  if (scale == 0) proposal.slope.setZero();
  drift = MatrixXd::Zero(normals.pull.size(), n);
}

void Guess::transfer(Archive& archive) {
  const Index m = normals.pull.rows(), functions = normals.pull.cols();
  archive("precision", normals.precision, m, functions);
  archive("pull", normals.pull, m, functions);
  archive("drift", drift, drift.rows(), drift.cols());
  archive("centre", proposal.centre, Want::of(proposal.centre.size()));
  archive("slope", proposal.slope, Want::of(proposal.slope.size()));
  archive("root", proposal.root, proposal.root.rows(), proposal.root.cols());
  archive("expected_log_s", log_s);
  archive("line_root", root, root.rows(), root.cols());
  if (!archive.reading()) return;
  archive.require(normals.precision.minCoeff() > 0, "precision",
                  "positive precisions");
  const bool positive = (proposal.root.diagonal().array() > 0).all() &&
                        (root.diagonal().array() > 0).all();
  archive.require(positive, "root", "a positive diagonal");
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
  const MatrixXd precision = labels.information(eta, rates);
  const MatrixXd all_eta = labels.all_of(eta), all_slope = labels.all_of(slope);

  VectorXd theta(x.size() + scale + n_rates);
  MatrixXd drift(all_eta.size(), scale + n_rates);
  theta.head(x.size()) = x;
  if (scale > 0) {
    theta[x.size()] = log_s;
    drift.col(0) = flat(all_slope - precision.cwiseProduct(all_eta));
  }
  theta.tail(n_rates) = logits;
  for (Index c = 0; c < n_rates; ++c) {
    VectorXd near = logits;
    near[c] += kStep;
    labels.value(eta, rates_of(near, bound), changed, ignored);
    drift.col(scale + c) = flat(labels.all_of(changed - slope)) / kStep;
  }
  if (count_++ == 0) sum_ = VectorXd::Zero(theta.size());
  sum_ += theta;
  accumulate(precision_, precision);
  accumulate(squares_, theta * theta.transpose());
  accumulate(eta_, all_eta);
  accumulate(slope_, all_slope);
  accumulate(drift_, drift);
}

void Averages::improve(Guess& guess, bool learns_scale) {
  if (count_ == 0) return;
  guess.normals.precision = precision_ / count_;
  guess.normals.pull =
      (guess.normals.precision.cwiseProduct(eta_) + slope_) / count_;
  guess.drift = drift_ / count_;

  const VectorXd mean = sum_ / count_;
  const Index n = guess.proposal.centre.size(), k = guess.root.rows();
  MatrixXd old = MatrixXd::Zero(n + k, n + k);
  old.topLeftCorner(n, n).setIdentity();
  old.bottomRightCorner(k, k) = guess.root * guess.root.transpose();
  if (learns_scale) {
    old.block(n, 0, 1, n) = guess.proposal.slope.transpose();
    old.block(0, n, n, 1) = guess.proposal.slope;
    old(n, n) += guess.proposal.slope.squaredNorm();
  }
  // The weight of the old guess, in draws: few draws tell little of many
  // covariances.
  const double weight = 100.0 * static_cast<double>(n + k);
  const MatrixXd spread = squares_ - count_ * mean * mean.transpose();
  const Eigen::LLT<MatrixXd> llt((spread + weight * old) / (count_ + weight));
  *this = Averages();
  if (llt.info() != Eigen::Success) return;
  const MatrixXd factor = llt.matrixL();
  guess.proposal.centre += guess.proposal.root * mean.head(n);
  guess.proposal.root *= factor.topLeftCorner(n, n);
  guess.root = factor.bottomRightCorner(k, k);
  if (!learns_scale) return;
  guess.proposal.slope = factor.block(n, 0, 1, n).transpose();
  guess.log_s = mean[n];
}

void Averages::transfer(Archive& archive, const Guess& guess) {
  archive("averaged", count_, Want::tally());
  if (count_ == 0) return;
  const Index n = guess.proposal.centre.size() + guess.root.rows();
  const Index m = guess.normals.pull.rows();
  const Index functions = guess.normals.pull.cols();
  archive("sum", sum_, Want::of(n));
  archive("precisions", precision_, m, functions);
  archive("squares", squares_, n, n);
  archive("etas", eta_, m, functions);
  archive("slopes", slope_, m, functions);
  archive("drifts", drift_, guess.drift.rows(), guess.drift.cols());
}

}  // namespace kernelbayes::kgs
