// Internal entries through which tests reach the core of kgs.
#include <RcppEigen.h>

#include "core/kgs/mover.hpp"
#include "core/kgs/noise.hpp"
#include "glue/kgs_from_r.hpp"

namespace {

using namespace kernelbayes;
using Eigen::VectorXd;

}  // namespace

// [[Rcpp::export(rng = false)]]
std::vector<double> kgs_truncated_beta_cpp(int n, double a, double b,
                                           double upper, int seed) {
  Rng rng(seed);
  std::vector<double> out(n);
  for (double& q : out) q = kgs::truncated_beta(a, b, upper, rng);
  return out;
}

// Angles between g and z, and the data that are wrong there according to the
// ledger (n x data).
// [[Rcpp::export(rng = false)]]
Rcpp::List kgs_angles_cpp(Rcpp::List data, Eigen::VectorXd g, Eigen::VectorXd z,
                          std::vector<double> costs, int n, int seed) {
  const kgs::Walls walls(kgs_r::data(data));
  kgs::State state(walls);
  Rng rng(seed);
  const VectorXd b = walls.project(z);
  Rcpp::NumericVector angle(n);
  Rcpp::LogicalMatrix wrong(n, walls.data());
  for (int i = 0; i < n; ++i) {
    state.set(walls, g);
    angle[i] = kgs::draw_angle(walls, state.f, b, costs, state.ledger, rng);
    for (int j = 0; j < walls.data(); ++j) {
      wrong(i, j) = state.ledger.is_wrong(j);
    }
  }
  return Rcpp::List::create(Rcpp::_["angle"] = angle, Rcpp::_["wrong"] = wrong);
}

// The ledger at the columns of w, for every wall: the change of energy that it
// announces, and the energy after crossing the wall.
// [[Rcpp::export(rng = false)]]
Rcpp::List kgs_ledger_cpp(Rcpp::List data, Eigen::MatrixXd w,
                          std::vector<double> costs) {
  const kgs::Walls walls(kgs_r::data(data));
  kgs::State state(walls);
  Rcpp::IntegerMatrix wrong(walls.classes(), w.cols());
  Rcpp::NumericVector energy(w.cols());
  Rcpp::NumericMatrix change(walls.size(), w.cols());
  Rcpp::NumericMatrix after(walls.size(), w.cols());
  for (int i = 0; i < w.cols(); ++i) {
    state.set(walls, w.col(i));
    energy[i] = state.ledger.energy(costs);
    for (int k = 0; k < walls.size(); ++k) {
      change(k, i) = state.ledger.change(k, costs);
      state.ledger.cross(k);
      after(k, i) = state.ledger.energy(costs);
      state.ledger.cross(k);
    }
    for (int c = 0; c < walls.classes(); ++c) {
      wrong(c, i) = state.ledger.wrong()[c];
    }
  }
  return Rcpp::List::create(
      Rcpp::_["wrong"] = wrong, Rcpp::_["energy"] = energy,
      Rcpp::_["change"] = change, Rcpp::_["after"] = after);
}
