#include "arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <kernelbayes/cholesky.hpp>
#include <stdexcept>

// Not on Windows: its compiler does not align the stack for wide registers.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define KERNELBAYES_WIDE
#include <immintrin.h>
#endif

// What follows is compiled for more instructions than the rest of the file.
#define KERNELBAYES_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define KERNELBAYES_FOR(set) \
  KERNELBAYES_PRAGMA(        \
      clang attribute push(__attribute__((target(set))), apply_to = function))
#define KERNELBAYES_END _Pragma("clang attribute pop")
#else
#define KERNELBAYES_FOR(set) \
  _Pragma("GCC push_options") KERNELBAYES_PRAGMA(GCC target(set))
#define KERNELBAYES_END _Pragma("GCC pop_options")
#endif

#define UNROLL _Pragma("GCC unroll 16")

namespace kernelbayes {

namespace portable {
namespace {

using Block = Arithmetic::Block;
using Profile = Arithmetic::Profile;
using Map = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

Map as_matrix(Block block) {
  return {block.first, block.n, block.columns,
          Eigen::OuterStride<>(block.stride)};
}

// One number at a time: the exponential of the C library is at least as fast as
// one with registers of two numbers.
void exp_minus(const double* x, double* out, Eigen::Index n) {
  for (Eigen::Index i = 0; i < n; ++i) out[i] = std::exp(-x[i]);
}

void add_squares(double scale, const double* x, double centre, double* out,
                 Eigen::Index n) {
  const Eigen::Map<const Eigen::ArrayXd> from(x, n);
  Eigen::Map<Eigen::ArrayXd>(out, n) += scale * (from - centre).square();
}

void squared_distances(const double* scales, Block points, const double* centre,
                       double* out) {
  std::fill(out, out + points.n, 0.0);
  for (Eigen::Index l = 0; l < points.columns; ++l) {
    add_squares(scales[l], points.first + l * points.stride, centre[l], out,
                points.n);
  }
}

double radial(Profile profile, double square) {
  if (profile == Profile::kGaussian) return std::exp(-0.5 * square);
  if (profile == Profile::kLaplace) return std::exp(-std::sqrt(square));
  if (profile == Profile::kMatern32) {
    const double r = std::sqrt(3 * square);
    return (1 + r) * std::exp(-r);
  }
  const double r = std::sqrt(5 * square);
  return (1 + r + 5.0 / 3 * square) * std::exp(-r);
}

void radial(Profile profile, const double* factors, double* squares,
            Eigen::Index n) {
  for (Eigen::Index i = 0; i < n; ++i) {
    squares[i] = factors[i] * radial(profile, squares[i]);
  }
}

void normal(const double* x, double* cdf, double* bell, Eigen::Index n) {
  constexpr double kRootHalf = 0.70710678118654752440;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double at = x[i];
    cdf[i] = 0.5 * std::erfc(-at * kRootHalf);
    bell[i] = std::exp(-0.5 * at * at);
  }
}

void logistic(const double* t, double* p, double* variance, double* log_sum,
              Eigen::Index n) {
  for (Eigen::Index i = 0; i < n; ++i) {
    const double small = std::exp(-std::abs(t[i])), sum = 1 + small;
    p[i] = (t[i] < 0 ? small : 1) / sum;
    variance[i] = small / (sum * sum);
    log_sum[i] = (t[i] < 0 ? 0 : t[i]) + std::log1p(small);
  }
}

void times(Block a, const double* x, double* out) {
  Eigen::Map<Eigen::VectorXd>(out, a.n).noalias() =
      as_matrix(a) * Eigen::Map<const Eigen::VectorXd>(x, a.columns);
}

void products(Block a, Block b, double* out, Eigen::Index stride) {
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>> to(
      out, a.columns, b.columns, Eigen::OuterStride<>(stride));
  if (b.columns == 1) {
    to.col(0).noalias() = as_matrix(a).transpose() * as_matrix(b).col(0);
  } else {
    to.noalias() = as_matrix(a).transpose() * as_matrix(b);
  }
}

constexpr Arithmetic::Loops kLoops{"portable",  exp_minus,
                                   add_squares, squared_distances,
                                   radial,      detail::subtract_four,
                                   products,    normal,
                                   logistic,    times};

}  // namespace
}  // namespace portable

#ifdef KERNELBAYES_WIDE

// Without fused multiplications: the bits of the portable loop.
KERNELBAYES_FOR("avx2")
namespace unfused {
namespace {

void subtract_four(int n, const double* a, const double* const* x, double* y) {
  constexpr int kSize = 4;
  __m256d multiples[4];
  UNROLL for (int l = 0; l < 4; ++l) multiples[l] = _mm256_set1_pd(a[l]);
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  int i = 0;
  for (; i + kSize <= n; i += kSize) {
    const auto less = [=](__m256d sum, __m256d multiple, const double* from) {
      return _mm256_sub_pd(sum, _mm256_mul_pd(multiple, _mm256_loadu_pd(from)));
    };
    __m256d sum = less(_mm256_loadu_pd(y + i), multiples[0], x0 + i);
    sum = less(sum, multiples[1], x1 + i);
    sum = less(sum, multiples[2], x2 + i);
    sum = less(sum, multiples[3], x3 + i);
    _mm256_storeu_pd(y + i, sum);
  }
  for (; i < n; ++i) {
    y[i] = y[i] - a[0] * x0[i] - a[1] * x1[i] - a[2] * x2[i] - a[3] * x3[i];
  }
}

}  // namespace
}  // namespace unfused
KERNELBAYES_END

KERNELBAYES_FOR("avx2,fma")
namespace avx2 {
namespace {

struct Pack {
  static constexpr int kSize = 4, kTile = 2;
  __m256d v;
  static Pack all(double x) { return {_mm256_set1_pd(x)}; }
  static Pack load(const double* x) { return {_mm256_loadu_pd(x)}; }
  static Pack load(const double* x, Eigen::Index left) {
    return {_mm256_maskload_pd(x, first(left))};
  }
  void store(double* to) const { _mm256_storeu_pd(to, v); }
  void store(double* to, Eigen::Index left) const {
    _mm256_maskstore_pd(to, first(left), v);
  }
  static __m256i first(Eigen::Index left) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(left),
                              _mm256_set_epi64x(3, 2, 1, 0));
  }
};
inline Pack operator+(Pack a, Pack b) { return {_mm256_add_pd(a.v, b.v)}; }
inline Pack operator-(Pack a, Pack b) { return {_mm256_sub_pd(a.v, b.v)}; }
inline Pack operator*(Pack a, Pack b) { return {_mm256_mul_pd(a.v, b.v)}; }
inline Pack operator/(Pack a, Pack b) { return {_mm256_div_pd(a.v, b.v)}; }
inline Pack operator-(Pack a) { return Pack::all(-0.0) - a; }
// By the sign of x: a or b.
inline Pack if_negative(Pack x, Pack a, Pack b) {
  return {_mm256_blendv_pd(b.v, a.v, x.v)};
}
inline Pack multiply_add(Pack a, Pack b, Pack c) {
  return {_mm256_fmadd_pd(a.v, b.v, c.v)};
}
inline Pack least(Pack a, Pack b) { return {_mm256_min_pd(a.v, b.v)}; }
inline Pack most(Pack a, Pack b) { return {_mm256_max_pd(a.v, b.v)}; }
inline Pack root(Pack a) { return {_mm256_sqrt_pd(a.v)}; }
inline Pack nearest(Pack a) {
  return {_mm256_round_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// 2^-k for k up to 1022, from the bits of the exponent.
inline Pack half_to(Pack k) {
  const __m128i power =
      _mm_sub_epi32(_mm_set1_epi32(1023), _mm256_cvtpd_epi32(k.v));
  return {
      _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_cvtepi32_epi64(power), 52))};
}
// a / 2^k in two steps: 2^-k alone may be 0.
inline Pack halve(Pack a, Pack k) {
  const Pack part = nearest(k * Pack::all(0.5));
  return a * half_to(part) * half_to(k - part);
}
inline double total(Pack a) {
  double of[4];
  a.store(of);
  return (of[0] + of[1]) + (of[2] + of[3]);
}

constexpr const char* kName = "avx2";
#include "arithmetic_loops.inc"

}  // namespace
}  // namespace avx2
KERNELBAYES_END

KERNELBAYES_FOR("avx512f,avx2,fma")
namespace avx512 {
namespace {

struct Pack {
  static constexpr int kSize = 8, kTile = 4;
  __m512d v;
  static Pack all(double x) { return {_mm512_set1_pd(x)}; }
  static Pack load(const double* x) { return {_mm512_loadu_pd(x)}; }
  static Pack load(const double* x, Eigen::Index left) {
    return {_mm512_maskz_loadu_pd(first(left), x)};
  }
  void store(double* to) const { _mm512_storeu_pd(to, v); }
  void store(double* to, Eigen::Index left) const {
    _mm512_mask_storeu_pd(to, first(left), v);
  }
  static __mmask8 first(Eigen::Index left) {
    return static_cast<__mmask8>((1 << left) - 1);
  }
};
inline Pack operator+(Pack a, Pack b) { return {_mm512_add_pd(a.v, b.v)}; }
inline Pack operator-(Pack a, Pack b) { return {_mm512_sub_pd(a.v, b.v)}; }
inline Pack operator*(Pack a, Pack b) { return {_mm512_mul_pd(a.v, b.v)}; }
inline Pack operator/(Pack a, Pack b) { return {_mm512_div_pd(a.v, b.v)}; }
inline Pack operator-(Pack a) { return Pack::all(-0.0) - a; }
inline Pack if_negative(Pack x, Pack a, Pack b) {
  return {_mm512_mask_blend_pd(
      _mm512_cmp_pd_mask(x.v, _mm512_setzero_pd(), _CMP_LT_OQ), b.v, a.v)};
}
inline Pack multiply_add(Pack a, Pack b, Pack c) {
  return {_mm512_fmadd_pd(a.v, b.v, c.v)};
}
inline Pack least(Pack a, Pack b) { return {_mm512_min_pd(a.v, b.v)}; }
inline Pack most(Pack a, Pack b) { return {_mm512_max_pd(a.v, b.v)}; }
inline Pack root(Pack a) { return {_mm512_sqrt_pd(a.v)}; }
inline Pack nearest(Pack a) {
  return {
      _mm512_roundscale_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline Pack halve(Pack a, Pack k) { return {_mm512_scalef_pd(a.v, (-k).v)}; }
inline double total(Pack a) {
  double of[8];
  a.store(of);
  return ((of[0] + of[1]) + (of[2] + of[3])) +
         ((of[4] + of[5]) + (of[6] + of[7]));
}

constexpr const char* kName = "avx512";
#include "arithmetic_loops.inc"

}  // namespace
}  // namespace avx512
KERNELBAYES_END

namespace {

enum Width { kPortable, kAvx2, kAvx512 };

Width widest() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return kPortable;
  }
  return __builtin_cpu_supports("avx512f") ? kAvx512 : kAvx2;
}

}  // namespace

#endif

const Arithmetic& Arithmetic::best() {
  static const Arithmetic& chosen = at_most("avx512");
  return chosen;
}

const Arithmetic& Arithmetic::at_most(const std::string& name) {
  static const Arithmetic narrow(portable::kLoops);
  if (name != "avx512" && name != "avx2" && name != "portable") {
    throw std::invalid_argument("no such instruction set: " + name);
  }
#ifdef KERNELBAYES_WIDE
  static const Arithmetic wide(avx2::kLoops), wider(avx512::kLoops);
  static const Width top = widest();
  if (name == "avx512" && top == kAvx512) return wider;
  if (name != "portable" && top != kPortable) return wide;
#endif
  return narrow;
}

void Arithmetic::exp_minus(Columns x, Eigen::Ref<Eigen::MatrixXd> out) const {
  for (Eigen::Index j = 0; j < x.cols(); ++j) {
    loops_->exp_minus(x.col(j).data(), out.col(j).data(), x.rows());
  }
}

void Arithmetic::add_squares(double scale, Vector x, double centre,
                             Eigen::Ref<Eigen::VectorXd> out) const {
  loops_->add_squares(scale, x.data(), centre, out.data(), x.size());
}

void Arithmetic::squared_distances(Vector scales, Columns points, Vector centre,
                                   Eigen::Ref<Eigen::VectorXd> out) const {
  loops_->squared_distances(
      scales.data(),
      {points.data(), points.outerStride(), points.cols(), points.rows()},
      centre.data(), out.data());
}

void Arithmetic::radial(Profile profile, Vector factors,
                        Eigen::Ref<Eigen::VectorXd> squares) const {
  loops_->radial(profile, factors.data(), squares.data(), squares.size());
}

void Arithmetic::normal(Vector x, Eigen::Ref<Eigen::VectorXd> cdf,
                        Eigen::Ref<Eigen::VectorXd> bell) const {
  loops_->normal(x.data(), cdf.data(), bell.data(), x.size());
}

void Arithmetic::logistic(Vector t, Eigen::Ref<Eigen::VectorXd> p,
                          Eigen::Ref<Eigen::VectorXd> variance,
                          Eigen::Ref<Eigen::VectorXd> log_sum) const {
  loops_->logistic(t.data(), p.data(), variance.data(), log_sum.data(),
                   t.size());
}

void Arithmetic::times(Columns a, Vector x,
                       Eigen::Ref<Eigen::VectorXd> out) const {
  loops_->times({a.data(), a.outerStride(), a.cols(), a.rows()}, x.data(),
                out.data());
}

Eigen::MatrixXd Arithmetic::products(Columns a, Columns b) const {
  Eigen::MatrixXd out(a.cols(), b.cols());
  loops_->products({a.data(), a.outerStride(), a.cols(), a.rows()},
                   {b.data(), b.outerStride(), b.cols(), b.rows()}, out.data(),
                   out.rows());
  return out;
}

Eigen::VectorXd Arithmetic::product(Columns a, Vector b) const {
  Eigen::VectorXd out(a.cols());
  loops_->products({a.data(), a.outerStride(), a.cols(), a.rows()},
                   {b.data(), b.size(), 1, b.size()}, out.data(), out.size());
  return out;
}

// The lower half, by blocks of columns, and its mirror image.
Eigen::MatrixXd Arithmetic::squares(Columns a) const {
  constexpr Eigen::Index kBlock = 8;
  const Eigen::Index m = a.cols();
  Eigen::MatrixXd out(m, m);
  for (Eigen::Index j = 0; j < m; j += kBlock) {
    const Eigen::Index width = std::min(kBlock, m - j);
    const double* from = a.data() + j * a.outerStride();
    loops_->products({from, a.outerStride(), m - j, a.rows()},
                     {from, a.outerStride(), width, a.rows()},
                     out.data() + j + j * m, m);
  }
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return out;
}

}  // namespace kernelbayes
