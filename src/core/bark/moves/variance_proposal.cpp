#include "variance_proposal.hpp"

#include <array>
#include <cmath>

#include "moves.hpp"
#include "voigt.hpp"

namespace kernelbayes::bark {

namespace {

// The information, or none if the variance has no effect beyond rounding.
Information at_least_some(Information about, double rate) {
  constexpr double kLeast = 1e-40;
  const bool some = about.precision * rate > kLeast;
  return some ? about : Information{0, 0};
}

// (B139); the rate is half the squared scale of the coefficient.
double log_cauchy_evidence(const Information& about, double rate) {
  if (about.precision == 0) return 0;
  const double x = about.score / std::sqrt(2 * about.precision);
  return x * x + std::log(Voigt::at(x, std::sqrt(rate * about.precision)));
}

// The density is decreasing and log-convex: chords of its logarithm are above
// it.
class PrecisionRatio {
 public:
  PrecisionRatio(double a, double b) : a_(a), b_(b) {
    double mass = 0;
    while (pieces_ < kMost - 1) {
      mass += add_chord();
      if (tail() < 0.05 * mass) break;
    }
    mass_[pieces_] = tail();
    total_ = mass + tail();
  }

  double draw(Rng& rng) const {
    for (;;) {
      double left = rng.uniform() * total_;
      int i = 0;
      while (i < pieces_ && left >= mass_[i]) left -= mass_[i++];
      const double share = std::min(left / mass_[i], 1.0);
      const auto [w, above] = inside(i, share);
      if (std::log1p(-rng.uniform()) < log_density(w) - above) return w;
    }
  }

 private:
  static constexpr int kMost = 120;

  // Relative to that at 0.
  double log_density(double w) const {
    return -0.5 * std::log1p(w) - b_ * w / (1 + w) - a_ * w;
  }
  // Beyond the last chord it falls at least as fast as exp(-a w).
  double tail() const { return std::exp(log_[pieces_]) / a_; }

  // At most 1/2 above the logarithm of the density, whose second derivative
  // decreases. Returns its mass.
  double add_chord() {
    const int i = pieces_++;
    const double more = 1 + at_[i];
    const double curvature = (0.5 + 2 * b_ / more) / (more * more);
    const double width = 2 / std::sqrt(curvature);
    at_[i + 1] = at_[i] + width;
    log_[i + 1] = log_density(at_[i + 1]);
    const double fall = log_[i + 1] - log_[i];
    return mass_[i] = std::exp(log_[i]) * width * std::expm1(fall) / fall;
  }

  struct Point {
    double w, above;
  };
  Point inside(int i, double share) const {
    if (i == pieces_) {
      const double step = -std::log1p(-share);
      return {at_[i] + step / a_, log_[i] - step};
    }
    const double fall = log_[i + 1] - log_[i];
    const double step = std::log1p(share * std::expm1(fall));
    return {at_[i] + step / fall * (at_[i + 1] - at_[i]), log_[i] + step};
  }

  double a_, b_;
  int pieces_ = 0;  // without the tail
  std::array<double, kMost> at_{}, log_{}, mass_{};
  double total_ = 0;
};

// A draw of w > 0 with density proportional to (1 + w)^(-1/2)
// exp(b / (1 + w) - a w), a > 0, b >= 0: (B141); 0 if they are not numbers.
double draw_precision_ratio(double a, double b, Rng& rng) {
  constexpr double kMost = 1e300;
  if (!(a + b < kMost)) return 0;
  return PrecisionRatio(a, b).draw(rng);
}

}  // namespace

VarianceProposal::VarianceProposal(const Prior& prior, int copies,
                                   const Information& information, double power)
    : prior_(&prior),
      squared_copies_(double(copies) * copies),
      information_(information),
      power_(power),
      exact_(prior.alpha == 1 && power == 1),
      rate_(prior.varphi_rate() * squared_copies_),
      near_(at_least_some(
          {information.precision, std::sqrt(power) * information.score},
          rate_)),
      log_evidence_(log_cauchy_evidence(near_, rate_)) {}

double VarianceProposal::propose(Rng& rng) {
  if (exact_) return log_evidence_;
  proposed_ =
      rng.uniform() < kPriorShare ? prior_->draw_varphi(rng) : draw(rng);
  return log_weight(proposed_);
}

// (B141).
double VarianceProposal::draw(Rng& rng) const {
  const double q = near_.precision, h = near_.score;
  if (q == 0) {
    return at_least_tiny(
        std::exp(log_gamma_draw(0.5, prior_->varphi_rate(), rng)));
  }
  const double ratio = draw_precision_ratio(rate_ * q, 0.5 * h * h / q, rng);
  return at_least_tiny(squared_copies_ * q * ratio);
}

// (B142): the prior with alpha = 1 and the same rate has the density
// varphi^((1 - alpha) / 2) times that of the prior, but for a constant.
double VarianceProposal::log_weight(double varphi) const {
  if (exact_) return log_evidence_;
  const double v = squared_copies_ / varphi;
  const double log_prior_ratio =
      0.5 * (1 - prior_->alpha) * std::log(prior_->varphi_rate() * varphi) +
      std::lgamma(0.5 * prior_->alpha) - std::lgamma(0.5);
  const double log_informed =
      log_prior_ratio + near_.log_ratio(v) - log_evidence_;
  return power_ * information_.log_ratio(v) -
         log_add(std::log1p(-kPriorShare) + log_informed,
                 std::log(kPriorShare));
}

// (B34): a draw from the prior, whose density cancels, or a symmetric step of
// log varphi, whose prior density is that of varphi times varphi.
bool varphi_move(State& state, double power, double step, Rng& rng) {
  if (state.size() == 0) return false;
  const Prior& prior = state.prior();
  const int j = static_cast<int>(rng.index(state.size()));
  Slot slot = state.slot(j);
  double& varphi =
      slot.varphi[rng.index(static_cast<std::uint32_t>(slot.varphi.size()))];
  double log_prior = 0;
  if (rng.uniform() < 0.5) {
    varphi = prior.draw_varphi(rng);
  } else {
    const double move = step * rng.normal(), from = varphi;
    varphi *= std::exp(move);
    log_prior =
        0.5 * prior.alpha * move - prior.varphi_rate() * (varphi - from);
  }
  const Change change = state.score_change(j, slot.variance(prior.collapsed()));
  if (!accept(power * change.log_ratio + log_prior, rng)) return false;
  state.set_slot(change, std::move(slot));
  return true;
}

}  // namespace kernelbayes::bark
