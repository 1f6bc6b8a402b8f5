// The bark engine's configuration and state, to and from plain R lists.
#pragma once

#include <RcppEigen.h>
#include <string>
#include <vector>

#include "core/bark/fields/fields.hpp"
#include "core/bark/state/state.hpp"
#include "lists.hpp"

namespace bark_r {

using namespace kernelbayes;

bark::Prior prior(const Rcpp::List& list);

bark::TermData terms(const Rcpp::List& list);

const Arithmetic& arithmetic(const Rcpp::List& config);

bark::Data data(const Rcpp::List& config, const Eigen::MatrixXd& x,
                const Eigen::VectorXd& y, const Eigen::VectorXd& weights);

/// Refuses parts that disagree.
void check_sizes(const bark::Prior& prior, const bark::Data& data);

// Classes of multinomial bark models and the data of their fields, from R.

using namespace kernelbayes;

/// What a field is given the others: a model of two classes.
inline bark::Data field_data(const Eigen::MatrixXd& x,
                             const Eigen::VectorXd& weights,
                             const bark::Family* family) {
  return {x, Eigen::VectorXd::Ones(x.rows()), weights, family};
}

inline bark::Data field_data(const Eigen::MatrixXd& x) {
  return field_data(x, Eigen::VectorXd::Ones(x.rows()), bark::family("probit"));
}

/// `labels`: the class of each row, from 1.
inline bark::Classes classes(const std::vector<int>& labels, int count) {
  return {indices_from_r(Rcpp::wrap(labels), "labels", count), count};
}

}  // namespace bark_r
