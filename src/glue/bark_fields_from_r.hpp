// Classes of multinomial bark models and the data of their fields, from R.
#pragma once

#include <RcppEigen.h>

#include <vector>

#include "core/bark/fields.hpp"

namespace bark_r {

using namespace kernelbayes;

inline bark::Data field_data(const Eigen::MatrixXd& x) {
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x.rows());
  return {x, ones, ones, bark::Family::kProbit};
}

inline bark::Classes classes(const std::vector<int>& labels, int count) {
  bark::Classes out{labels, count};
  for (int& label : out.of_row) --label;  // from 1
  return out;
}

}  // namespace bark_r
