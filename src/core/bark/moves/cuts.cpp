// Cut points between ordered classes: (B48), (B53).
#include "moves.hpp"

namespace kernelbayes::bark {

double log_prior_gaps(const std::vector<double>& log_gaps) {
  double sum = 0;
  for (const double gap : log_gaps) sum -= 0.5 * gap * gap;
  return sum;
}

void draw_prior_cuts(State& state, Rng& rng) {
  if (!state.data().ordered()) return;
  std::vector<double> gaps = state.log_gaps();
  for (double& gap : gaps) gap = rng.normal();
  state.set_log_gaps(std::move(gaps));
}

namespace {

// The distribution of the gaps given f, latent responses integrated out: class
// probabilities times the prior. Proposals are tried on the state; the last
// value is kept.
class GapLaw {
 public:
  GapLaw(State& state, const Eigen::VectorXd& f)
      : state_(state), f_(f), log_density_(log_density()) {}

  bool step(std::vector<double> gaps, Rng& rng) {
    std::vector<double> before = state_.log_gaps();
    state_.set_log_gaps(std::move(gaps));
    const double proposed = log_density();
    if (accept(proposed - log_density_, rng)) {
      log_density_ = proposed;
      return true;
    }
    state_.set_log_gaps(std::move(before));
    return false;
  }

 private:
  double log_density() const {
    return class_log_likelihood(state_, state_.cuts(), f_) +
           log_prior_gaps(state_.log_gaps());
  }

  State& state_;
  const Eigen::VectorXd& f_;
  double log_density_;
};

// Moves the point between two gaps a, b by a step of logit(a / (a + b)): with
// the sum fixed, d log a d log b = d logit / (a + b), so there is no Jacobian.
std::vector<double> with_point_moved(std::vector<double> gaps, std::size_t k,
                                     double step) {
  const double sum = log_add(gaps[k], gaps[k + 1]);
  const double logit = gaps[k] - gaps[k + 1] + step;
  gaps[k] = sum - log_add(0, -logit);
  gaps[k + 1] = sum - log_add(0, logit);
  return gaps;
}

}  // namespace

std::vector<char> cuts_move(State& state, const std::vector<double>& steps,
                            Rng& rng) {
  std::vector<char> moved;
  Eigen::VectorXd f;
  if (steps.empty() || !draw_fit(state, f, rng)) return moved;
  GapLaw law(state, f);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    std::vector<double> gaps = state.log_gaps();
    gaps[k] += steps[k] * rng.normal();
    moved.push_back(law.step(std::move(gaps), rng));
  }
  for (std::size_t k = 0; k + 1 < steps.size(); ++k) {
    const double step = (steps[k] + steps[k + 1]) * rng.normal();
    law.step(with_point_moved(state.log_gaps(), k, step), rng);
  }
  draw_latent(state, std::move(f), rng);
  return moved;
}

}  // namespace kernelbayes::bark
