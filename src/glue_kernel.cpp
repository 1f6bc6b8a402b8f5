#include "glue/kernel_from_r.hpp"

#include "core/incomplete_cholesky.hpp"
#include "core/linalg.hpp"
#include "glue/lists.hpp"

namespace {

// Dimensions of R's matrices are integers.
Rcpp::NumericMatrix matrix_of(Eigen::Index rows, Eigen::Index columns) {
  return Rcpp::NumericMatrix(
      Rcpp::no_init(static_cast<int>(rows), static_cast<int>(columns)));
}

Eigen::Map<Eigen::MatrixXd> as_eigen(Rcpp::NumericMatrix& matrix) {
  return {matrix.begin(), matrix.nrow(), matrix.ncol()};
}

Eigen::Map<Eigen::MatrixXd> points(SEXP x) {
  return Rcpp::as<Eigen::Map<Eigen::MatrixXd>>(x);
}

int check_rank(int rank) {
  require(rank >= 0, "the rank must not be below 0");
  return rank;
}

Rcpp::List to_r(const kernelbayes::IncompleteCholesky& result, Eigen::Index n) {
  const int rank = static_cast<int>(result.rank());
  Rcpp::IntegerVector pivots(rank);
  for (int i = 0; i < rank; ++i) {
    pivots[i] = static_cast<int>(result.pivots()[i]) + 1;
  }
  Rcpp::NumericMatrix factor = matrix_of(n, rank);
  result.copy_factor(as_eigen(factor));
  return Rcpp::List::create(Rcpp::Named("pivots") = pivots,
                            Rcpp::Named("factor") = factor,
                            Rcpp::Named("residual") = result.residual(),
                            Rcpp::Named("trace") = result.trace());
}

}  // namespace

// Without y, of x with itself.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix kernel_matrix_cpp(
    const Rcpp::List& kernel, const Eigen::Map<Eigen::MatrixXd>& x,
    const Rcpp::Nullable<Rcpp::NumericMatrix>& y) {
  const bool gram = y.isNull();
  Rcpp::NumericMatrix out =
      matrix_of(x.rows(), gram ? x.rows() : Rf_nrows(y.get()));
  if (gram) {
    kernel_from_r(kernel).gram(x, as_eigen(out));
  } else {
    kernel_from_r(kernel).block(x, points(y), as_eigen(out));
  }
  return out;
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd kernel_diagonal_cpp(const Rcpp::List& kernel,
                                    const Eigen::Map<Eigen::MatrixXd>& x) {
  Eigen::VectorXd out(x.rows());
  kernel_from_r(kernel).diagonal(x, out);
  return out;
}

// Of a kernel at the points x, or of a Gram matrix; its points, if given, break
// ties.
// [[Rcpp::export(rng = false)]]
Rcpp::List incomplete_cholesky_cpp(SEXP kernel,
                                   const Rcpp::Nullable<Rcpp::NumericMatrix>& x,
                                   int rank, double tol) {
  namespace tie_order = kernelbayes::tie_order;
  const auto factorise = [&](const auto& source, const auto& order) {
    const auto n = static_cast<Eigen::Index>(order.size());
    return to_r(
        kernelbayes::incomplete_cholesky(source, order, check_rank(rank), tol),
        n);
  };
  if (!Rf_isMatrix(kernel)) {
    const kernelbayes::Kernel built = kernel_from_r(Rcpp::List(kernel));
    const auto at = points(x);
    return factorise(kernelbayes::KernelSource(built, at),
                     tie_order::of_points(at));
  }
  const auto gram = points(kernel);
  require(gram.rows() == gram.cols() &&
              (x.isNull() || Rf_nrows(x.get()) == gram.rows()),
          "points and their Gram matrix disagree");
  return factorise(
      kernelbayes::MatrixSource(gram),
      x.isNull() ? tie_order::of_gram(gram) : tie_order::of_points(points(x)));
}

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd incomplete_cholesky_features_cpp(
    const Rcpp::List& kernel, const Eigen::Map<Eigen::MatrixXd>& pivot_points,
    const Eigen::Map<Eigen::MatrixXd>& pivot_factor,
    const Eigen::Map<Eigen::MatrixXd>& z) {
  require(pivot_factor.rows() == pivot_points.rows() &&
              pivot_factor.cols() == pivot_points.rows(),
          "pivots disagree");
  return kernelbayes::incomplete_cholesky_features(
      kernel_from_r(kernel), pivot_points, pivot_factor, z);
}
