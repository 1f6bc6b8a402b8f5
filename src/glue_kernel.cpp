#include "glue/kernel_from_r.hpp"

#include "core/incomplete_cholesky.hpp"
#include "core/linalg.hpp"
#include "core/median_distance.hpp"
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

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix kernel_matrix_cpp(const Rcpp::List& kernel,
                                      const Eigen::Map<Eigen::MatrixXd>& x,
                                      const Eigen::Map<Eigen::MatrixXd>& y) {
  Rcpp::NumericMatrix out = matrix_of(x.rows(), y.rows());
  kernel_from_r(kernel).block(x, y, as_eigen(out));
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix kernel_gram_cpp(const Rcpp::List& kernel,
                                    const Eigen::Map<Eigen::MatrixXd>& x) {
  Rcpp::NumericMatrix out = matrix_of(x.rows(), x.rows());
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
double median_distance_cpp(const Eigen::Map<Eigen::MatrixXd>& x) {
  return kernelbayes::median_distance(x);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List incomplete_cholesky_cpp(const Rcpp::List& kernel,
                                   const Eigen::Map<Eigen::MatrixXd>& x,
                                   int rank, double tol) {
  const kernelbayes::Kernel built = kernel_from_r(kernel);
  return to_r(kernelbayes::incomplete_cholesky(
                  kernelbayes::KernelSource(built, x),
                  kernelbayes::tie_order::of_points(x), check_rank(rank), tol),
              x.rows());
}

// The points x, if given, break ties.
// [[Rcpp::export(rng = false)]]
Rcpp::List incomplete_cholesky_gram_cpp(
    const Eigen::Map<Eigen::MatrixXd>& gram,
    const Rcpp::Nullable<Rcpp::NumericMatrix>& x, int rank, double tol) {
  namespace tie_order = kernelbayes::tie_order;
  require(gram.rows() == gram.cols() &&
              (x.isNull() || Rf_nrows(x.get()) == gram.rows()),
          "points and their Gram matrix disagree");
  const auto order =
      x.isNull() ? tie_order::of_gram(gram)
                 : tie_order::of_points(Rcpp::as<Eigen::Map<Eigen::MatrixXd>>(
                       Rcpp::NumericMatrix(x)));
  return to_r(kernelbayes::incomplete_cholesky(kernelbayes::MatrixSource(gram),
                                               order, check_rank(rank), tol),
              gram.rows());
}

// The largest |g(i, j) - g(j, i)|.
// [[Rcpp::export(rng = false)]]
double asymmetry_cpp(const Eigen::Map<Eigen::MatrixXd>& gram) {
  constexpr Eigen::Index width = 32;
  const Eigen::Index n = gram.rows();
  require(gram.cols() == n, "the Gram matrix must be square");
  double largest = 0;
  for (Eigen::Index j = 0; j < n; j += width) {
    const Eigen::Index m = std::min(width, n - j);
    for (Eigen::Index i = j; i < n; i += width) {
      const Eigen::Index h = std::min(width, n - i);
      const auto gap =
          gram.block(i, j, h, m) - gram.block(j, i, m, h).transpose();
      largest = std::max(largest, gap.cwiseAbs().maxCoeff());
    }
  }
  return largest;
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
