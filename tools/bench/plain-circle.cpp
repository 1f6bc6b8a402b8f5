// The sampler of Graepel and Herbrich (2001) as printed, for tools/bench/kgs.R:
// 2m angles per step, and the errors on each of the 2m arcs counted afresh,
// O(m^2). Two errors of the paper are corrected: directions are isotropic, and
// the middle of the last arc is the middle of its two ends.

#include <Rcpp.h>

#include <algorithm>
#include <cmath>
#include <vector>

using Vector = std::vector<double>;

namespace {

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

void normalise(Vector& w) {
  const double length = std::sqrt(dot(w, w));
  for (double& x : w) x /= length;
}

Vector times(const Rcpp::NumericMatrix& phi, const Vector& w) {
  Vector out(phi.nrow(), 0.0);
  for (int k = 0; k < phi.ncol(); ++k) {
    const double* column = &phi(0, k);
    for (int i = 0; i < phi.nrow(); ++i) out[i] += column[i] * w[k];
  }
  return out;
}

Vector tangent_direction(const Vector& w) {
  Vector v(w.size());
  for (double& x : v) x = R::norm_rand();
  const double along = dot(v, w);
  for (std::size_t k = 0; k < v.size(); ++k) v[k] -= along * w[k];
  normalise(v);
  return v;
}

// The angles at which a label changes, in order, and the first again.
Vector turning_angles(const Vector& f, const Vector& b) {
  Vector out;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double angle = std::atan2(-f[i], b[i]);
    out.push_back(angle);
    out.push_back(angle > 0 ? angle - M_PI : angle + M_PI);
  }
  std::sort(out.begin(), out.end());
  out.push_back(out.front() + 2 * M_PI);
  return out;
}

int count_errors(const Vector& f, const Vector& b,
                 const Rcpp::NumericVector& sign, double angle) {
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  int errors = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    errors += sign[i] * (c * f[i] + s * b[i]) <= 0;
  }
  return errors;
}

double draw_angle(const Vector& angles, const std::vector<int>& errors,
                  double beta) {
  const int least = *std::min_element(errors.begin(), errors.end());
  Vector total;
  double sum = 0.0;
  for (std::size_t j = 0; j < errors.size(); ++j) {
    sum += (angles[j + 1] - angles[j]) * std::exp(-beta * (errors[j] - least));
    total.push_back(sum);
  }
  const double chosen = sum * R::unif_rand();
  std::size_t j = std::lower_bound(total.begin(), total.end(), chosen) -
                  total.begin();
  j = std::min(j, errors.size() - 1);
  return angles[j] + (angles[j + 1] - angles[j]) * R::unif_rand();
}

void step(const Rcpp::NumericMatrix& phi, const Rcpp::NumericVector& sign,
          double beta, Vector& w) {
  const Vector v = tangent_direction(w);
  const Vector f = times(phi, w);
  const Vector b = times(phi, v);
  const Vector angles = turning_angles(f, b);
  std::vector<int> errors;
  for (std::size_t j = 0; j + 1 < angles.size(); ++j) {
    errors.push_back(
        count_errors(f, b, sign, (angles[j] + angles[j + 1]) / 2));
  }
  const double angle = draw_angle(angles, errors, beta);
  for (std::size_t k = 0; k < w.size(); ++k) {
    w[k] = std::cos(angle) * w[k] + std::sin(angle) * v[k];
  }
  normalise(w);
}

}  // namespace

// phi: features, m x r; sign: -1 or 1. Returns directions after `warmup` steps,
// every `thin`-th of the next `iter`, as r x (iter / thin).
// [[Rcpp::export]]
Rcpp::NumericMatrix plain_circle(Rcpp::NumericMatrix phi,
                                 Rcpp::NumericVector sign, double q, int warmup,
                                 int iter, int thin) {
  const double beta = std::log((1 - q) / q);
  Vector w(phi.ncol());
  for (double& x : w) x = R::norm_rand();
  normalise(w);
  Rcpp::NumericMatrix out(phi.ncol(), iter / thin);
  for (int t = 1; t <= warmup + iter; ++t) {
    step(phi, sign, beta, w);
    const int kept = (t - warmup) / thin;
    if (t > warmup && (t - warmup) % thin == 0 && kept <= out.ncol()) {
      std::copy(w.begin(), w.end(), out.column(kept - 1).begin());
    }
    if (t % 64 == 0) Rcpp::checkUserInterrupt();
  }
  return out;
}
