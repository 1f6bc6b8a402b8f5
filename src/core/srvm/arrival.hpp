#pragma once

#include <vector>

#include "../student_mixture.hpp"
#include "likelihood.hpp"

namespace kernelbayes::srvm {

/// log(exp(a) + exp(b)); neither may be -infinity.
inline double log_add(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

/// A row enters gradually: its likelihood is raised to a power that increases
/// from 0 to 1, so that no increase eliminates most of the particles. At power
/// w the row's factor of the likelihood is
///   normal:   N(y | f, noise)^w, (S13), (S14),
///   Student:  t_df(y | f, noise)^w = (c / sqrt(noise))^w
///               E[exp(-omega (y - f)^2 / (2 noise))],
///             omega ~ Gamma(w (df + 1) / 2, df / 2), c = t_df(0 | 0, 1),
///             (S27),
///   probit:   Phi(sqrt(w) y f) = P(y z > 0), z ~ N(f, 1 / w), (S26),
/// that of the model at w = 1 and a constant at w = 0. The row's candidate also
/// enters gradually: a set that contains it has w times its prior probability,
/// (S22). Each increase weighs S and S + t together, (S23),
///   [gamma_w'(S) + gamma_w'(S + t)] / [gamma_w(S) + gamma_w(S + t)],
/// and then draws one of the two: the gain of a set from the candidate counts
/// before any particle contains it.
///
/// What a particle that does not contain the candidate knows about the next
/// increase of any size.
struct Arrival {
  double power = 0;       // so far
  Likelihood likelihood;  // of the part in the particle's factor
  Response response = Response::kNormal;
  double y = 0, df = 0, noise = 1;
  double omega = 0;  // Student's, once it has been drawn

  /// f at the row, with its offset, given the factor, for S and for S + t.
  RowMoments stay{0, 0}, join{0, 0};
  /// Logs of the change of the prior in the first increase, and of
  /// p(S + t) L(S + t) / [p(S) L(S)] at power 1 of the candidate.
  double log_stay = 0, log_join = 0;
  double log_before = 0;  // of the two sets' weights before the increase
  Birth birth{};
  std::vector<double> g, h;  // the birth's gram entries and row of the factor

  bool first() const { return power == 0; }

  /// The log of the row's factor at power `to`, f integrated out, divided by
  /// the part that the particle's factor contains; `explained` is the gain of
  /// z'z from the set.
  double log_row(double to, const RowMoments& f, double explained = 0) const;

  /// The logs of both sets' weights at power `to`, and of their sum: (S24).
  double log_stays(double to) const { return log_stay + log_row(to, stay); }
  double log_joins(double to) const;
  double log_both(double to) const;

  /// The log weight of an increase to `to`. (Approximate for the first one in
  /// Student's model, which depends on the omega that will be drawn.)
  double log_weight(double to) const { return log_both(to) - log_before; }

  /// The log predictive density of y before the row enters; `rule` is for
  /// Student's model.
  double log_predictive(const StudentRules* rules) const;
};

/// Scores the latest row of the pool, at its power there, without a candidate.
/// A particle with latent variables removes the row: it enters again with a new
/// latent response, or (Student) with omega times the ratio of the powers,
/// because omega is about w if df is large. Leaves L^-1 of the design row in
/// scratch.a.
void score_row(Particle& particle, const Model& model,
               const CandidatePool& pool, Scratch& scratch, Arrival& arrival);

/// A row that is entering, up to its power in the pool. In Student's model its
/// omega is drawn in the first increase, from a mixture q of its prior p and
/// its posterior given the residual; the density includes p(omega) / q(omega),
/// (S28).
class EnteringRow {
 public:
  EnteringRow(const Arrival& arrival, double power, Rng& rng);

  /// The log of the row's factor of the weight, f integrated out.
  double log_density(const RowMoments& f, double explained = 0) const;

  /// Takes it in, once the set, and with it f, is known.
  void enter(Particle& particle, const Model& model, const CandidatePool& pool,
             const RowMoments& f, Rng& rng, Scratch& scratch) const;

 private:
  bool draws_omega() const;

  const Arrival& arrival_;
  double power_;
  double omega_ = 0, log_factor_ = 0;  // where it is drawn
};

}  // namespace kernelbayes::srvm
