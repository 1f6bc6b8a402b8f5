#include "noisy_level.hpp"

#include <numeric>

#include "kernelbayes/constants.hpp"
#include "samplers.hpp"

namespace kernelbayes::kgs {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd normal_matrix(Eigen::Index rows, Eigen::Index columns, Rng& rng) {
  const VectorXd z = normal_vector(rows * columns, rng);
  return Eigen::Map<const MatrixXd>(z.data(), rows, columns);
}

void append(std::vector<double>& to, const Eigen::Ref<const VectorXd>& values) {
  to.insert(to.end(), values.data(), values.data() + values.size());
}

// Of logits of rates, (G49).
double log_logits_prior(const Noise& noise, const Rates& rates, double bound) {
  double out = 0, rest = bound;
  for (const double rate : rates) {
    out += noise.a * std::log(rate) + (noise.b - 1) * std::log1p(-rate);
    rest -= rate;
  }
  return out + std::log(rest);
}

double logit(double share) { return std::log(share / (1 - share)); }

// Logits that moves of rates may reach; of a rate that is 0 or its bound they
// are infinite.
bool within_reach(const VectorXd& logits) {
  return (logits.array() > -300 && logits.array() < 30).all();
}

}  // namespace

void NoisyDraws::transfer(Archive& archive) {
  archive("w", w);
  archive("log_s", log_s);
  archive("rates", rates);
  archive("log_inverse", log_inverse);
  archive("log_lik", log_lik);
  archive("wrong", wrong);
  archive("flipped", flipped, Want::of(flipped.size()));
}

NoisyLevel::NoisyLevel(const NoisyModel& model, int, Rng& rng)
    : model_(&model), guess_(model), rates_(start_rates(model.noise)) {
  // A bandwidth at which the pivots' matrix has no factor is no place to start.
  constexpr int kTries = 20;
  const Eigen::Index n = model.proposal.centre.size();
  for (int k = 0; k < kTries && (k == 0 || !place_.span.ok()); ++k) {
    place_ = place_at(normal_vector(n, rng));
  }
  if (!place_.span.ok()) place_ = place_at(VectorXd::Zero(n));
  const MatrixXd u = place_.whitened.to_u(
      normal_matrix(model.rank(), model.labels.all_functions(), rng));
  w_ = place_.span.to_w(model.labels.contrasts_of(u));
  log_s_ = model.learns_scale
               ? guess_.expected_log_s(place_.x) + model.start_sd * rng.normal()
               : model.log_s;
  if (model.noise.kind != Noise::kFixed) {
    // Far from the bounds of its logit, from where slices could not return.
    const double rate =
        std::clamp(model.start_rate * std::exp(0.5 * rng.normal()), 1e-6,
                   0.9 * rate_bound(2));
    for (double& each : rates_) each = rate;
  }
}

VectorXd NoisyLevel::log_inverse(const VectorXd& x) const {
  if (!model_->learned) return {};
  const LearnedKernel& learned = *model_->learned;
  return learned.offset + learned.design * guess_.h(x);
}

NoisyLevel::Place NoisyLevel::place_at(VectorXd x) const {
  Place out;
  out.span = span_at(*model_, log_inverse(x));
  if (out.span.ok()) {
    out.whitened =
        Whitened(out.span, std::exp(guess_.expected_log_s(x)), guess_.normals);
  }
  out.x = std::move(x);
  return out;
}

MatrixXd NoisyLevel::eta() const { return s() * place_.span.times(w_); }

void NoisyLevel::sweep(const Turn& turn, Counts&, Rng& rng) {
  constexpr int kLines = 2, kProposals = 3;
  const int trajectories = model_->labels.classes() == 2 ? 2 : 1;
  if (turn.time == turn.warmup) step_.settle();
  for (int k = 0; k < trajectories; ++k) {
    const double acceptance = move_w(rng);
    if (turn.adapts()) step_.note(acceptance);
  }
  if (model_->noise.kind != Noise::kFixed) move_rates(rng);
  if (model_->learns_scale) move_scale(rng);
  for (int k = 0; k < kLines; ++k) move_along_line(rng);
  if (model_->learned) {
    for (int k = 0; k < kProposals; ++k) move_bandwidths(k == 0, rng);
  }
  if (turn.adapts()) adapt(turn);
}

// Three times in the warmup: the last leaves time for the step size.
void NoisyLevel::adapt(const Turn& turn) {
  const int after = turn.time + 1, warmup = turn.warmup;
  if (warmup < 20 || after <= warmup / 10) return;
  const int last = 17 * warmup / 20;
  if (after > last) return;
  averages_.add(*model_, place_.x, log_s_, rates_, eta());
  if (after != warmup / 5 && after != 9 * warmup / 20 && after != last) return;
  const Guess old = guess_;
  const VectorXd h = guess_.h(place_.x);
  averages_.improve(guess_, model_->learns_scale);
  Place place = place_at(guess_.x(h));
  if (!place.span.ok()) {
    guess_ = old;
    return;
  }
  place_ = std::move(place);
}

// Of all functions, (G50): the one that labels do not see has its prior.
MatrixXd NoisyLevel::draw_all(const MatrixXd& w, Rng& rng) const {
  const NoisyLabels& labels = model_->labels;
  MatrixXd out = labels.all_of(w);
  if (labels.classes() == 2) return out;
  out.colwise() += normal_vector(out.rows(), rng) /
                   std::sqrt(static_cast<double>(labels.classes()));
  return out;
}

// Leapfrog steps between which z and the momentum rotate: (G40).
double NoisyLevel::move_w(Rng& rng) {
  constexpr int kMostSteps = 40;
  const NoisyLabels& labels = model_->labels;
  const Span& span = place_.span;
  MatrixXd u = span.to_u(draw_all(w_, rng)), z = place_.whitened.to_z(u);
  MatrixXd momentum = normal_matrix(z.rows(), z.cols(), rng), slope, pull;
  double ignored;
  const auto evaluate = [&] {
    const double value =
        labels.value(s() * span.kernel().times(labels.contrasts_of(u)), rates_,
                     slope, ignored);
    const MatrixXd gram = span.gram_times(u);
    const MatrixXd of_u =
        labels.all_of(s() * span.kernel().transposed_times(slope));
    pull = place_.whitened.slope(of_u - gram) + z;
    return value - 0.5 * u.cwiseProduct(gram).sum();
  };
  const double before = evaluate() - 0.5 * momentum.squaredNorm();
  const double length = kPi / 2 * (0.8 + 0.4 * rng.uniform());
  const double size = step_.size();
  const int steps =
      std::clamp(static_cast<int>(std::lround(std::min(length / size, 1e3))), 1,
                 kMostSteps);
  const double cosine = std::cos(size), sine = std::sin(size);
  double after = before;
  for (int k = 0; k < steps; ++k) {
    momentum += 0.5 * size * pull;
    const MatrixXd from = z;
    z = cosine * from + sine * momentum;
    momentum = cosine * momentum - sine * from;
    u = place_.whitened.to_u(z);
    after = evaluate();
    momentum += 0.5 * size * pull;
  }
  const double gain = after - 0.5 * momentum.squaredNorm() - before;
  if (!std::isfinite(gain)) return 0;
  if (rng.uniform() < std::exp(gain)) w_ = span.to_w(labels.contrasts_of(u));
  return std::min(1.0, std::exp(gain));
}

double NoisyLevel::bound_of_sum() const {
  return rates_.size() == 2 ? 1 : rate_bound(model_->labels.classes());
}

// Each logit of its share of the bound, given the other rate.
void NoisyLevel::move_rates(Rng& rng) {
  if (!within_reach(logits_of(rates_, bound_of_sum()))) return;
  const VectorXd shares = model_->labels.shares(eta());
  const Noise& noise = model_->noise;
  for (std::size_t c = 0; c < rates_.size(); ++c) {
    const double bound =
        bound_of_sum() - (rates_.size() == 2 ? rates_[1 - c] : 0);
    Rates rates = rates_;
    const auto rate_of = [&](double t) { return bound / (1 + std::exp(-t)); };
    const auto log_density = [&](double t) {
      const double rate = rate_of(t);
      rates[c] = rate;
      if (!within_reach(logits_of(rates, bound_of_sum()))) {
        return -std::numeric_limits<double>::infinity();
      }
      return model_->labels.value_of(shares, rates) + noise.a * std::log(rate) +
             (noise.b - 1) * std::log1p(-rate) - std::log1p(std::exp(t));
    };
    rates_[c] = rate_of(slice(logit(rates_[c] / bound), 1, log_density, rng));
  }
}

double NoisyLevel::log_scale_prior(double log_s) const {
  const double gap = (log_s - model_->log_s) / model_->log_s_sd;
  return -0.5 * gap * gap;
}

// Given w, then given s w: (G36).
void NoisyLevel::move_scale(Rng& rng) {
  const MatrixXd f = place_.span.times(w_);
  log_s_ = slice(
      log_s_, 0.5,
      [&](double t) {
        return model_->labels.value(std::exp(t) * f, rates_) +
               log_scale_prior(t);
      },
      rng);
  const double from = log_s_;
  const double squares = w_.squaredNorm(), n = static_cast<double>(w_.size());
  log_s_ = slice(
      log_s_, 0.3,
      [&](double t) {
        return -0.5 * squares * std::exp(2 * (from - t)) - n * t +
               log_scale_prior(t);
      },
      rng);
  w_ *= std::exp(from - log_s_);
}

// (G49): log s and the logits of rates in a random direction, which w follows.
void NoisyLevel::move_along_line(Rng& rng) {
  if (guess_.root.size() == 0) return;
  const NoisyLabels& labels = model_->labels;
  const Eigen::Index m = labels.size();
  const Eigen::Index scale = model_->learns_scale ? 1 : 0;
  const VectorXd line = guess_.root * normal_vector(guess_.root.rows(), rng);
  const VectorXd by_line = guess_.drift * line;
  const Eigen::Map<const MatrixXd> pull(by_line.data(), m,
                                        labels.all_functions());
  const Span& span = place_.span;
  const MatrixXd along_u = labels.contrasts_of(
      std::exp(guess_.expected_log_s(place_.x)) *
      place_.whitened.solve(span.kernel().transposed_times(pull)));
  const MatrixXd along = span.to_w(along_u);
  const MatrixXd f = span.times(w_), change = span.kernel().times(along_u);
  const double bound = bound_of_sum();
  const bool has_rates = line.size() > scale;
  const VectorXd logits = has_rates ? logits_of(rates_, bound) : VectorXd();
  const auto rates_at = [&](double t) {
    return has_rates ? rates_of(logits + t * line.tail(logits.size()), bound)
                     : rates_;
  };
  const auto log_s_at = [&](double t) {
    return log_s_ + (scale > 0 ? t * line[0] : 0);
  };
  const auto inside = [&](double t) {
    return within_reach(logits + t * line.tail(logits.size()));
  };
  const auto log_density = [&](double t) {
    if (!inside(t)) return -std::numeric_limits<double>::infinity();
    const Rates rates = rates_at(t);
    double out = labels.value(std::exp(log_s_at(t)) * (f + t * change), rates) -
                 0.5 * (w_ + t * along).squaredNorm();
    if (scale > 0) out += log_scale_prior(log_s_at(t));
    return has_rates ? out + log_logits_prior(model_->noise, rates, bound)
                     : out;
  };
  if (!inside(0) || !along.allFinite()) return;
  const double t = slice(0, 1.5, log_density, rng);
  rates_ = rates_at(t);
  log_s_ = log_s_at(t);
  w_ += t * along;
}

double NoisyLevel::log_density(const Place& place, const MatrixXd& u,
                               double log_s) const {
  const NoisyLabels& labels = model_->labels;
  const VectorXd h = guess_.h(place.x);
  const MatrixXd f = place.span.kernel().times(labels.contrasts_of(u));
  double out = labels.value(std::exp(log_s) * f, rates_) -
               0.5 * u.cwiseProduct(place.span.gram_times(u)).sum() +
               place.whitened.log_volume() - 0.5 * h.squaredNorm();
  if (model_->learns_scale) out += log_scale_prior(log_s);
  return out;
}

// (G41): z is held, log s keeps its distance from its expectation. Steps in
// proportion to x - 0 leave a normal distribution invariant; those of a random
// walk return from tails that are longer than its.
void NoisyLevel::move_bandwidths(bool walk, Rng& rng) {
  const VectorXd& from = place_.x;
  const double small = rng.uniform();
  double size = std::pow(10.0, -(walk ? 0.6 : 0.2) * small * small);
  if (walk) size *= 2.4 / std::sqrt(static_cast<double>(from.size()));
  const double keep = walk ? 1 : std::sqrt(1 - size * size);
  VectorXd x = keep * from + size * normal_vector(from.size(), rng);
  const double log_s =
      log_s_ + guess_.expected_log_s(x) - guess_.expected_log_s(from);
  Place to = place_at(std::move(x));
  if (!to.span.ok()) return;
  const MatrixXd u = place_.span.to_u(draw_all(w_, rng));
  const MatrixXd to_u = to.whitened.to_u(place_.whitened.to_z(u));
  double gain = log_density(to, to_u, log_s) - log_density(place_, u, log_s_);
  if (!walk) gain += 0.5 * (to.x.squaredNorm() - from.squaredNorm());
  if (!(std::log(1 - rng.uniform()) < gain)) return;
  place_ = std::move(to);
  w_ = place_.span.to_w(model_->labels.contrasts_of(to_u));
  log_s_ = log_s;
}

void NoisyLevel::record(Draws& draws, Rng&) const {
  const MatrixXd at = eta();
  append(draws.w, Eigen::Map<const VectorXd>(w_.data(), w_.size()));
  draws.log_s.push_back(log_s_);
  draws.rates.insert(draws.rates.end(), rates_.begin(), rates_.end());
  append(draws.log_inverse, log_inverse(place_.x));
  draws.log_lik.push_back(model_->labels.value(at, rates_));
  const VectorXd wrong = model_->labels.wrong(at, rates_);
  VectorXd by_class = VectorXd::Zero(model_->labels.classes());
  for (int i = 0; i < wrong.size(); ++i) {
    by_class[model_->labels.label(i)] += wrong[i];
    draws.flipped[i] += wrong[i];
  }
  append(draws.wrong, by_class);
}

void NoisyLevel::transfer(Archive& archive) {
  VectorXd x = place_.x;
  archive("x", x, Want::of(x.size()));
  archive("w", w_, w_.rows(), w_.cols());
  archive("log_s", log_s_, Want::between(-500, 500));
  archive("rates", rates_, Want::between(0, 1, rates_.size()));
  step_.transfer(archive);
  guess_.transfer(archive);
  averages_.transfer(archive, guess_);
  if (!archive.reading()) return;
  const double sum = std::accumulate(rates_.begin(), rates_.end(), 0.0);
  archive.require(sum < bound_of_sum(), "rates", "rates below their bound");
  place_ = place_at(std::move(x));
  if (!place_.span.ok()) throw DamagedState("bandwidths without features");
}

}  // namespace kernelbayes::kgs
