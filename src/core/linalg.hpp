#pragma once

#include <Eigen/Core>

// Eigen's product kernels are compiled once, in linalg.cpp; otherwise the
// compiler clones them for each file. Headers of the core include this file for
// Eigen; public headers, which others compile too, must not.
//
// The kernels are internal to Eigen: another version may use other names.
#if EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION == 4

namespace kernelbayes::linalg {

using Product = Eigen::internal::gebp_traits<double, double>;
using Target =
    Eigen::internal::blas_data_mapper<double, Eigen::Index, Eigen::ColMajor>;
using ByColumn = Eigen::internal::const_blas_data_mapper<double, Eigen::Index,
                                                         Eigen::ColMajor>;
using ByRow = Eigen::internal::const_blas_data_mapper<double, Eigen::Index,
                                                      Eigen::RowMajor>;

}  // namespace kernelbayes::linalg

#define KERNELBAYES_EIGEN_PRODUCT(prefix)                                 \
  prefix struct Eigen::internal::gebp_kernel<                             \
      double, double, Eigen::Index, kernelbayes::linalg::Target,          \
      kernelbayes::linalg::Product::mr, kernelbayes::linalg::Product::nr, \
      false, false>;
#define KERNELBAYES_EIGEN_GEMV(prefix, Matrix, order, Vector)                 \
  prefix struct Eigen::internal::general_matrix_vector_product<               \
      Eigen::Index, double, kernelbayes::linalg::Matrix, Eigen::order, false, \
      double, kernelbayes::linalg::Vector, false>;
#define KERNELBAYES_EIGEN_TRSM(prefix, side, mode, order)                  \
  prefix struct Eigen::internal::triangular_solve_matrix<                  \
      double, Eigen::Index, Eigen::side, Eigen::mode, false, Eigen::order, \
      Eigen::ColMajor, 1>;
// `prefix` is `extern template` here and `template` in linalg.cpp.
#define KERNELBAYES_EIGEN_PRODUCTS(prefix)                     \
  KERNELBAYES_EIGEN_PRODUCT(prefix)                            \
  KERNELBAYES_EIGEN_GEMV(prefix, ByColumn, ColMajor, ByColumn) \
  KERNELBAYES_EIGEN_GEMV(prefix, ByColumn, ColMajor, ByRow)    \
  KERNELBAYES_EIGEN_GEMV(prefix, ByRow, RowMajor, ByColumn)    \
  KERNELBAYES_EIGEN_GEMV(prefix, ByRow, RowMajor, ByRow)       \
  KERNELBAYES_EIGEN_TRSM(prefix, OnTheLeft, Lower, ColMajor)   \
  KERNELBAYES_EIGEN_TRSM(prefix, OnTheLeft, Lower, RowMajor)   \
  KERNELBAYES_EIGEN_TRSM(prefix, OnTheLeft, Upper, ColMajor)   \
  KERNELBAYES_EIGEN_TRSM(prefix, OnTheLeft, Upper, RowMajor)   \
  KERNELBAYES_EIGEN_TRSM(prefix, OnTheRight, Lower, ColMajor)  \
  KERNELBAYES_EIGEN_TRSM(prefix, OnTheRight, Upper, RowMajor)
#else
#define KERNELBAYES_EIGEN_PRODUCTS(prefix)
#endif

KERNELBAYES_EIGEN_PRODUCTS(extern template)
