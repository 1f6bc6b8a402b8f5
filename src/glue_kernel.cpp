#include "glue/kernel_from_r.hpp"

#include "kernelbayes/incomplete_cholesky.hpp"

namespace {

Eigen::Map<Eigen::MatrixXd> as_eigen(Rcpp::NumericMatrix& matrix) {
  return {matrix.begin(), matrix.nrow(), matrix.ncol()};
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix kernel_matrix_cpp(const Rcpp::List& kernel,
                                      const Eigen::Map<Eigen::MatrixXd>& x,
                                      const Eigen::Map<Eigen::MatrixXd>& y) {
  Rcpp::NumericMatrix out(Rcpp::no_init(x.rows(), y.rows()));
  kernel_from_r(kernel).block(x, y, as_eigen(out));
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix kernel_gram_cpp(const Rcpp::List& kernel,
                                    const Eigen::Map<Eigen::MatrixXd>& x) {
  Rcpp::NumericMatrix out(Rcpp::no_init(x.rows(), x.rows()));
  kernel_from_r(kernel).gram(x, as_eigen(out));
  return out;
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd kernel_diagonal_cpp(const Rcpp::List& kernel,
                                    const Eigen::Map<Eigen::MatrixXd>& x) {
  Eigen::VectorXd out(x.rows());
  kernel_from_r(kernel).diagonal(x, out);
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::List incomplete_cholesky_cpp(const Rcpp::List& kernel,
                                   const Eigen::Map<Eigen::MatrixXd>& x,
                                   int rank, double tol) {
  const kernelbayes::IncompleteCholesky result =
      kernelbayes::incomplete_cholesky(kernel_from_r(kernel), x, rank, tol);
  Rcpp::IntegerVector pivots(result.pivots.size());
  for (std::size_t i = 0; i < result.pivots.size(); ++i) {
    pivots[i] = static_cast<int>(result.pivots[i]) + 1;
  }
  return Rcpp::List::create(Rcpp::Named("pivots") = pivots,
                            Rcpp::Named("factor") = result.factor,
                            Rcpp::Named("residual") = result.residual,
                            Rcpp::Named("trace") = result.trace);
}

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd incomplete_cholesky_features_cpp(
    const Rcpp::List& kernel, const Eigen::Map<Eigen::MatrixXd>& pivot_points,
    const Eigen::Map<Eigen::MatrixXd>& pivot_factor,
    const Eigen::Map<Eigen::MatrixXd>& z) {
  return kernelbayes::incomplete_cholesky_features(
      kernel_from_r(kernel), pivot_points, pivot_factor, z);
}
