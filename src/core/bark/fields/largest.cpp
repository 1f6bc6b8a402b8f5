// (B58): P(k) = int N(u; m_k, s_k^2) prod_{j != k} Phi((u - m_j) / s_j) du. The
// integrand is a product of normal densities and their integrals: its Fourier
// transform falls like that of a normal density whose variance is the inverse
// of sum 1 / s_j^2, call it w^2, so that a sum over points a distance h apart
// has error exp(-2 pi^2 w^2 / h^2) (Trefethen and Weideman, 2014).
#include "largest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <kernelbayes/normal_cdf.hpp>
#include <limits>

namespace kernelbayes::bark {

namespace {

constexpr double kRootHalf = 0.70710678118654752440;

double common_width(const std::vector<double>& sd) {
  double precision = 0;
  for (const double s : sd) precision += 1 / (s * s);
  return 1 / std::sqrt(precision);
}

// The logarithm of the integrand, which is concave.
class Integrand {
 public:
  Integrand(const std::vector<double>& mean, const std::vector<double>& sd,
            int k)
      : mean_(mean), sd_(sd), k_(k) {}

  double log(double u) const {
    double sum = 0;
    for (std::size_t j = 0; j < mean_.size(); ++j) {
      const double t = (u - mean_[j]) / sd_[j];
      sum += static_cast<int>(j) == k_
                 ? log_normal_density(t) - std::log(sd_[j])
                 : log_normal_cdf(t);
    }
    return sum;
  }

  // Its derivative is decreasing and convex: from the left, Newton steps never
  // go too far.
  double mode() const {
    double u = mean_[k_];
    for (int i = 0; i < 100; ++i) {
      const double step = slope(u) / -curvature_;
      u += step;
      if (std::abs(step) < 0.01 / std::sqrt(-curvature_)) break;
    }
    return u;
  }

  // The width of the integrand where slope() was last called.
  double width() const { return 1 / std::sqrt(-curvature_); }

 private:
  double slope(double u) const {
    const double own = (u - mean_[k_]) / sd_[k_];
    double sum = -own / sd_[k_];
    curvature_ = -1 / (sd_[k_] * sd_[k_]);
    for (std::size_t j = 0; j < mean_.size(); ++j) {
      if (static_cast<int>(j) == k_) continue;
      const double t = (u - mean_[j]) / sd_[j];
      const double ratio = std::exp(log_normal_density(t) - log_normal_cdf(t));
      sum += ratio / sd_[j];
      curvature_ -= std::max(ratio * (ratio + t), 0.0) / (sd_[j] * sd_[j]);
    }
    return sum;
  }

  const std::vector<double>& mean_;
  const std::vector<double>& sd_;
  int k_;
  mutable double curvature_ = -1;
};

// Terms below this fraction of the largest are left out.
constexpr double kLeastLog = -36;

double log_by_steps(const Integrand& f, double mode, double step) {
  const double top = f.log(mode);
  double sum = 1;
  for (const double direction : {-step, step}) {
    for (int i = 1;; ++i) {
      const double log_term = f.log(mode + i * direction) - top;
      if (!(log_term > kLeastLog)) break;
      sum += std::exp(log_term);
    }
  }
  return top + std::log(step * sum);
}

// Gauss-Legendre on (-1, 1), half of the 16 nodes.
constexpr std::array<double, 8> kNodes = {
    0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863,
    0.6178762444026437484, 0.7554044083550030339, 0.8656312023878317439,
    0.9445750230732325761, 0.9894009349916499326};
constexpr std::array<double, 8> kWeights = {
    0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382,
    0.1495959888165767321, 0.1246289712555338720, 0.0951585116824927848,
    0.0622535239386478929, 0.0271524594117540949};

double panel(const Integrand& f, double from, double to, double top) {
  const double centre = 0.5 * (from + to), half = 0.5 * (to - from);
  double sum = 0;
  for (std::size_t i = 0; i < kNodes.size(); ++i) {
    sum += kWeights[i] * (std::exp(f.log(centre - half * kNodes[i]) - top) +
                          std::exp(f.log(centre + half * kNodes[i]) - top));
  }
  return half * sum;
}

// If some are far wider than others: panels that grow away from the mode and
// from the points where a factor of the integrand bends.
double log_by_panels(const Integrand& f, double mode, double width,
                     const std::vector<double>& mean,
                     const std::vector<double>& sd, int k) {
  constexpr double kReach = 9;
  const double low = mode - kReach * sd[k], high = mode + kReach * sd[k];
  std::vector<double> ends = {low, mode, high};
  const auto add = [&](double centre, double scale, double most) {
    for (double off = 0; off <= most; off += std::max(off, scale)) {
      for (const double end : {centre - off, centre + off}) {
        if (end > low && end < high) ends.push_back(end);
      }
    }
  };
  add(mode, 0.5 * width, kReach * sd[k]);
  for (std::size_t j = 0; j < sd.size(); ++j) add(mean[j], sd[j], 8 * sd[j]);
  std::sort(ends.begin(), ends.end());
  const double top = f.log(mode);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    sum += panel(f, ends[i], ends[i + 1], top);
  }
  return top + std::log(sum);
}

}  // namespace

double log_largest(const std::vector<double>& mean,
                   const std::vector<double>& sd, int k) {
  constexpr double kWide = 60;
  const Integrand f(mean, sd, k);
  const double mode = f.mode(), step = common_width(sd);
  const double out = sd[k] < kWide * step
                         ? log_by_steps(f, mode, step)
                         : log_by_panels(f, mode, f.width(), mean, sd, k);
  return std::min(out, 0.0);
}

const std::vector<double>& Largest::operator()(const std::vector<double>& mean,
                                               const std::vector<double>& sd) {
  constexpr double kReach = 6.5, kStep = 1.1;
  constexpr int kMost = 150;
  const std::size_t size = mean.size();
  double low = -std::numeric_limits<double>::infinity(), high = low;
  for (std::size_t j = 0; j < size; ++j) {
    low = std::max(low, mean[j] - kReach * sd[j]);
    high = std::max(high, mean[j] + kReach * sd[j]);
  }
  const double step = kStep * common_width(sd), steps = (high - low) / step;
  sums_.assign(size, 0);
  if (!(steps <= kMost)) {
    for (std::size_t k = 0; k < size; ++k) {
      sums_[k] = std::exp(log_largest(mean, sd, static_cast<int>(k)));
    }
  }
  below_.resize(size);
  density_.resize(size);
  for (int i = 0; steps <= kMost && i <= steps; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double t = (low + i * step - mean[j]) / sd[j];
      below_[j] = 0.5 * std::erfc(-t * kRootHalf);
      density_[j] = std::exp(-0.5 * t * t) / sd[j];
    }
    // Products of all but one.
    double before = 1;
    for (std::size_t j = 0; j < size; ++j) {
      density_[j] *= before;
      before *= below_[j];
    }
    double after = 1;
    for (std::size_t j = size; j-- > 0;) {
      sums_[j] += density_[j] * after;
      after *= below_[j];
    }
  }
  double total = 0;
  for (const double sum : sums_) total += sum;
  for (double& sum : sums_) sum /= total;
  return sums_;
}

}  // namespace kernelbayes::bark
