#pragma once

#include <RcppEigen.h>

#include <vector>

namespace testing_r {

/// Statistics of states before and after moves, one column per pair.
struct Pairs {
  Eigen::MatrixXd before, after;

  void put(int pair, int pairs, const std::vector<double>& first,
           const std::vector<double>& last) {
    if (pair == 0) {
      before.resize(first.size(), pairs);
      after.resize(last.size(), pairs);
    }
    before.col(pair) = Eigen::VectorXd::Map(first.data(), first.size());
    after.col(pair) = Eigen::VectorXd::Map(last.data(), last.size());
  }
};

}  // namespace testing_r
