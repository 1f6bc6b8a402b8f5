#include "arrival.hpp"

#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

namespace kernelbayes::srvm {

namespace {

// log Phi(sqrt(w) y f) with f integrated out: (S26), (S41).
double log_side(double y, double power, const RowMoments& f) {
  const double scale = std::sqrt(power / (1 + power * f.variance));
  return log_normal_cdf(y * f.mean * scale);
}

// log t_df(0 | 0, noise)
double log_peak(double df, double noise) {
  constexpr double kLogPi = 1.14472988584940017414;
  return std::lgamma((df + 1) / 2) - std::lgamma(df / 2) -
         0.5 * (std::log(df) + kLogPi + std::log(noise));
}

double student_shape(double df, double power) { return power * (df + 1) / 2; }

// The latent response of a row at a power, f integrated out: (S26).
double draw_side(double y, double power, const RowMoments& f, Rng& rng) {
  const double sd = std::sqrt(1 / power + f.variance);
  return y * positive_normal(y * f.mean, sd, rng);
}

void put_latent(Particle& particle, const CandidatePool& pool, double value) {
  const std::size_t at = pool.latest_place();
  if (at < particle.latent.size()) {
    particle.latent[at] = value;
  } else {
    particle.latent.push_back(value);
  }
}

// log of the mean of exp(-omega (y - f)^2 / (2 noise)) over f
double log_misfit(double omega, double noise, double y, const RowMoments& f) {
  const double precision = omega / noise, scale = 1 + precision * f.variance;
  const double r = y - f.mean;
  return -0.5 * (std::log(scale) + precision * r * r / scale);
}

// Removes the row from the particle, which contains it with its latent response
// z at precision `power`, or with its weight omega.
void release_row(Particle& particle, const Model& model,
                 const CandidatePool& pool, Scratch& scratch) {
  double& latent = particle.latent[pool.latest_place()];
  const bool probit = model.response == Response::kProbit;
  const double weight = probit ? pool.power() : latent;
  const double value = probit ? latent : pool.latest_response();
  const double root = std::sqrt(weight);
  latest_design(particle, model, pool, scratch.a);
  for (double& u : scratch.a) u *= root;
  release(particle, model, scratch, scratch.a, root * value);
  particle.squares -= weight * value * value;
  if (!probit) latent = 0;
}

}  // namespace

double Arrival::log_row(double to, const RowMoments& f,
                        double explained) const {
  if (response == Response::kProbit) return log_side(y, to, f);
  if (response == Response::kNormal) {
    return likelihood.row(to - power, y - f.mean, f.variance, explained);
  }
  const double shape = student_shape(df, to);
  // (S29): omega grows with the power: its density, times omega.
  if (!first()) {
    const double weight = omega * to / power;
    return to * log_peak(df, noise) + shape * std::log(weight * df / 2) -
           weight * df / 2 - std::lgamma(shape) +
           log_misfit(weight, noise, y, f);
  }
  const double square = (y - f.mean) * (y - f.mean);
  return to * log_peak(df, noise + f.variance) -
         shape * std::log1p(square / (df * (noise + f.variance)));
}

// (S24).
double Arrival::log_joins(double to) const {
  if (log_join == -HUGE_VAL) return log_join;
  return log_stay + log_join + std::log(to) +
         log_row(to, join, birth.z * birth.z);
}

double Arrival::log_both(double to) const {
  const double stays = log_stays(to), joins = log_joins(to);
  if (joins == -HUGE_VAL) return stays;
  return log_add(stays, joins);
}

double Arrival::log_predictive(const StudentRules* rules) const {
  if (response != Response::kStudent) return log_row(1, stay);
  const double one = 1;
  const StudentMixture density{1,      &one,  &stay.mean, &stay.variance,
                               &noise, *rules};
  return density.log_density(y);
}

void score_row(Particle& particle, const Model& model,
               const CandidatePool& pool, Scratch& scratch, Arrival& arrival) {
  arrival.power = pool.power();
  arrival.response = model.response;
  arrival.y = pool.latest_response();
  arrival.df = particle.df;
  arrival.noise = particle.noise;
  if (!arrival.first() && model.response == Response::kStudent) {
    arrival.omega = particle.latent[pool.latest_place()];
  }
  if (!arrival.first() && model.latent()) {
    release_row(particle, model, pool, scratch);
  }
  arrival.likelihood = Likelihood(particle, model, pool.rows(),
                                  squared_responses(particle, model, pool));
  latest_design(particle, model, pool, scratch.a);
  arrival.stay = row_moments(particle, scratch.a);
  arrival.stay.mean += pool.latest_offset();
  arrival.log_stay = 0;
  arrival.log_join = -HUGE_VAL;
  arrival.log_before = arrival.first() ? 0 : arrival.log_both(arrival.power);
}

bool EnteringRow::draws_omega() const {
  return arrival_.response == Response::kStudent && arrival_.first();
}

EnteringRow::EnteringRow(const Arrival& arrival, double power, Rng& rng)
    : arrival_(arrival), power_(power) {
  if (!draws_omega()) return;
  // (S28): half from the prior Gamma(a, b), half from the posterior given a
  // residual with this square (in units of the noise): from the prior alone,
  // hardly any particle would have a weight that suits an outlier. The ratio is
  // at most 2.
  const RowMoments& f = arrival.stay;
  const double square =
      ((arrival.y - f.mean) * (arrival.y - f.mean) - f.variance) /
      arrival.noise;
  const double a = student_shape(arrival.df, power), b = arrival.df / 2;
  const double rate = b + std::max(square, 0.0) / 2;
  const bool prior = rng.uniform() < 0.5;
  omega_ = std::max(rng.gamma(a) / (prior ? b : rate), kLeastWeight);
  const double log_odds = a * std::log(rate / b) - (rate - b) * omega_;
  log_factor_ = power * log_peak(arrival.df, arrival.noise) + std::log(2.0) -
                log_add(0, log_odds);
}

double EnteringRow::log_density(const RowMoments& f, double explained) const {
  if (!draws_omega()) return arrival_.log_row(power_, f, explained);
  return log_factor_ + log_misfit(omega_, arrival_.noise, arrival_.y, f);
}

void EnteringRow::enter(Particle& particle, const Model& model,
                        const CandidatePool& pool, const RowMoments& f,
                        Rng& rng, Scratch& scratch) const {
  double value = arrival_.y, weight = power_ - arrival_.power;
  if (model.response == Response::kProbit) {
    value = draw_side(arrival_.y, power_, f, rng) - pool.latest_offset();
    weight = power_;
    put_latent(particle, pool, value);
  } else if (model.response == Response::kStudent) {
    weight =
        arrival_.first() ? omega_ : arrival_.omega * power_ / arrival_.power;
    put_latent(particle, pool, weight);
  }
  if (model.latent()) particle.squares += weight * value * value;
  latest_design(particle, model, pool, scratch.a);
  assimilate(particle, model, scratch, scratch.a, value, std::sqrt(weight));
}

}  // namespace kernelbayes::srvm
