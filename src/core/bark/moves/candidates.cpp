#include "candidates.hpp"

#include "moves.hpp"
#include "variance_proposal.hpp"

namespace kernelbayes::bark {

namespace {

// Approximate likelihood of a kernel against none, its variance integrated out:
// that at the variance that fits the data best, times the prior's tail, (B31).
// The exponent is kept separate, so that sums do not overflow.
struct Worth {
  double exponent, factor;
};

Worth worth(const Prior& prior, double rate, const Information& data) {
  const double size = data.precision > 0 ? data.score / data.precision : 0;
  const double v = rate + size * size, scaled = 1 + data.precision * v;
  const double tail =
      prior.alpha == 1 ? v / rate : std::pow(v / rate, prior.alpha);
  return {0.5 * data.score * data.score * v / scaled,
          1 / std::sqrt(scaled * tail)};
}

// log of the prior of a slot at one location over that at another; for places
// from the prior it is part of their probability.
double log_prior_ratio(const State& state, const Slot& slot, int to) {
  const CentrePrior& centres = state.prior().centres;
  if (state.prior().shaped() || centres.uniform()) return 0;
  return slot.copies * centres.log_ratio(to, slot.location);
}

}  // namespace

Candidates::Candidates(const State& state, int size, Rng& rng) {
  choose(state, size, rng);
  const Arithmetic& arithmetic = *state.data().arithmetic;
  state.fill_columns(places_, exponents_, values_);
  own_ = values_.colwise().squaredNorm();
  response_ = arithmetic.product(values_, state.response());
  gram_ = arithmetic.products(values_, state.columns());
  cross_.noalias() = gram_ * state.covariance();
  square_ = cross_.cwiseProduct(gram_).rowwise().sum();
  fit_.noalias() = gram_ * state.mean();
  weights_.resize(this->size());
  exponents_of_weights_.resize(this->size());
}

// The occupied places, then others.
void Candidates::choose(const State& state, int wanted, Rng& rng) {
  for (int j = 0; j < state.size(); ++j) {
    places_.push_back({state.slot(j).location, state.slot(j).shape});
    candidate_.push_back(j);
  }
  if (!state.prior().shaped()) choose_rows(state, wanted, rng);
  while (state.prior().shaped() && size() < wanted) {
    places_.push_back(draw_place(state, rng));
  }
  occupied_.assign(places_.size(), 0);
  std::fill_n(occupied_.begin(), state.size(), 1);
}

// A uniform sample of the free locations.
void Candidates::choose_rows(const State& state, int wanted, Rng& rng) {
  const int n = state.data().n();
  const CentrePrior& centres = state.prior().centres;
  std::vector<int> others;
  for (int location = 0; location <= n; ++location) {
    if (state.find(location) >= 0) continue;
    if (centres.probability(location, n) > 0) others.push_back(location);
  }
  auto left = static_cast<std::uint32_t>(others.size());
  while (size() < wanted && left > 0) {
    std::swap(others[rng.index(left)], others[left - 1]);
    places_.push_back({others[--left], nullptr});
  }
}

Information Candidates::information(const State& state, int i,
                                    const Change& out,
                                    double left_of_response) const {
  const double c = cross_(i, out.slot);
  const double explained = square_[i] - out.kappa * c * c;
  const double fitted = fit_[i] - out.kappa * state.mean()[out.slot] * c;
  const Information data = state.information(
      own_[i], explained, response_[i] - fitted, left_of_response);
  return state.in_slot_units(data.precision, data.score);
}

// Sets the weights of all free candidates after a slot is removed: (B31).
void Candidates::weigh(const State& state, const Change& out, double power,
                       double left) {
  const Slot& slot = state.slot(out.slot);
  const double rate = state.prior().varphi_rate() * slot.copies * slot.copies;
  const int from = candidate_[out.slot];
  for (int i = 0; i < size(); ++i) {
    if (i != from && occupied_[i]) {
      exponents_of_weights_[i] = -INFINITY;
      weights_[i] = 0;
      continue;
    }
    const Worth w =
        worth(state.prior(), rate, information(state, i, out, left));
    exponents_of_weights_[i] =
        power * w.exponent + log_prior_ratio(state, slot, location(i));
    weights_[i] = power == 1 ? w.factor : std::pow(w.factor, power);
  }
  // No free candidate has weight 0: a slot there could never leave.
  constexpr double kLeast = -600;
  const double top = exponents_of_weights_.maxCoeff();
  for (int i = 0; i < size(); ++i) {
    weights_[i] *= std::exp(std::max(exponents_of_weights_[i] - top, kLeast));
  }
}

// (B30).
bool Candidates::relocate(State& state, int j, double power, Rng& rng) {
  const Prior& prior = state.prior();
  const Slot slot = state.slot(j);
  if (slot.varphi.size() > 1) return false;
  const Change out = state.score_change(j, 0);
  const int from = candidate_[j];
  const double left = state.left_of_response(out);
  weigh(state, out, power, left);
  const int to = choose_weighted(weights_, weights_.sum(), rng);
  if (to < 0) return false;
  const auto proposal = [&](int i) {
    return VarianceProposal(prior, slot.copies,
                            information(state, i, out, left), power);
  };
  VarianceProposal next = proposal(to);
  const double log_ratio = next.propose(rng) -
                           proposal(from).log_weight(slot.varphi[0]) +
                           std::log(weights_[from] / weights_[to]) +
                           log_prior_ratio(state, slot, location(to));
  if (!accept_near_one(log_ratio, rng)) return false;
  const double varphi = next.take(rng);
  remove(state, out);
  state.remove(out);
  add(state, to, {location(to), slot.copies, {varphi}, places_[to].shape});
  return true;
}

// Does to the candidates' products what State::remove() will do.
void Candidates::remove(const State& state, const Change& out) {
  const int m = state.size(), j = out.slot;
  const Eigen::VectorXd c = cross_.col(j);
  square_.array() -= out.kappa * c.array().square();
  fit_ -= out.kappa * state.mean()[j] * c;
  cross_.noalias() -= out.kappa * c * state.covariance().col(j).transpose();
  for (Eigen::MatrixXd* matrix : {&gram_, &cross_}) {
    matrix->col(j) = matrix->col(m - 1).eval();
    matrix->conservativeResize(Eigen::NoChange, m - 1);
  }
  occupied_[candidate_[j]] = 0;
  candidate_[j] = candidate_[m - 1];
  candidate_.pop_back();
}

void Candidates::add(State& state, int i, const Slot& slot) {
  const int m = state.size();
  const double phi = state.noise();
  const Column column{places_[i],   exponents_.col(i), values_.col(i),
                      gram_.row(i), own_[i],           response_[i]};
  const Eigen::VectorXd u = cross_.row(i);
  // The part of the column that the slots do not explain, times each candidate.
  Eigen::VectorXd products =
      state.data().arithmetic->product(values_, values_.col(i));
  gram_.conservativeResize(Eigen::NoChange, m + 1);
  gram_.col(m) = products;
  products.noalias() -= phi * (gram_.leftCols(m) * u);
  state.add(column, slot);
  const double variance = state.covariance()(m, m);
  cross_.noalias() -= phi * variance * products * u.transpose();
  cross_.conservativeResize(Eigen::NoChange, m + 1);
  cross_.col(m) = variance * products;
  square_.array() += variance * products.array().square();
  fit_ += state.mean()[m] * products;
  candidate_.push_back(i);
  occupied_[i] = 1;
}

}  // namespace kernelbayes::bark
