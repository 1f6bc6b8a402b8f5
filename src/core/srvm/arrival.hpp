#pragma once

#include <kernelbayes/student_mixture.hpp>
#include <vector>

#include "likelihood.hpp"

namespace kernelbayes {
namespace srvm {

/// log(exp(a) + exp(b)); neither may be -infinity.
inline double log_add(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

/// A row comes in by degrees: its likelihood counts with a power that rises
/// from 0 to 1, so that no increase kills most of the particles. At power w
/// the row's factor of the likelihood is
///   normal:   N(y | f, noise)^w, (S13), (S14),
///   Student:  t_df(y | f, noise)^w = (c / sqrt(noise))^w
///               E[exp(-omega (y - f)^2 / (2 noise))],
///             omega ~ Gamma(w (df + 1) / 2, df / 2), c = t_df(0 | 0, 1),
///             (S27),
///   probit:   Phi(sqrt(w) y f) = P(y z > 0), z ~ N(f, 1 / w), (S26),
/// the model's at w = 1 and a constant at w = 0. The row's candidate comes in
/// by degrees, too: a set that holds it has w times its prior probability,
/// (S22). Each increase weighs S and S + t together, (S23),
///   [gamma_w'(S) + gamma_w'(S + t)] / [gamma_w(S) + gamma_w(S + t)],
/// and then draws one of the two: what a set would gain from the candidate is
/// seen before any particle holds it.
///
/// What a particle, which does not hold the candidate, knows of the next
/// increase, however large it will be.
struct Arrival {
  double power = 0;       // so far
  Likelihood likelihood;  // of what the particle's factor holds
  Response response = Response::kNormal;
  double y = 0, df = 0, noise = 1;
  double omega = 0;  // Student's, once it has been drawn

  /// f at the row given what the factor holds, for S and for S + t.
  RowMoments stay{0, 0}, join{0, 0};
  /// Logs of the change of the prior in the first increase, and of
  /// p(S + t) L(S + t) / [p(S) L(S)] at power 1 of the candidate.
  double log_stay = 0, log_join = 0;
  double log_before = 0;  // of the two sets' weights before the increase
  Birth birth{};
  std::vector<double> g, h;  // the birth's gram entries and row of the factor

  bool first() const { return power == 0; }

  /// The log of the row's factor at power `to`, f being integrated out, over
  /// what of it the particle's factor holds; `explained` is what z'z gains by
  /// the set.
  double log_row(double to, const RowMoments& f, double explained = 0) const;

  /// The logs of both sets' weights at power `to`, and of their sum: (S24).
  double log_stays(double to) const { return log_stay + log_row(to, stay); }
  double log_joins(double to) const;
  double log_both(double to) const;

  /// The log weight of an increase to `to`. (That of the first one in Student's
  /// model depends on the omega that will be drawn: about.)
  double log_weight(double to) const { return log_both(to) - log_before; }

  /// The log predictive density of y before anything of the row came in; `rule`
  /// is for Student's model.
  double log_predictive(const StudentRule* rule) const;
};

/// Scores the latest row of the pool, at its power there, with no candidate. A
/// particle with latent variables lets go of the row: it comes in again with a
/// new latent response, or (Student) with omega times the ratio of the powers,
/// as omega is about w where df is large. L^-1 of the design row is left in
/// scratch.a.
void score_row(Particle& particle, const Model& model,
               const CandidatePool& pool, Scratch& scratch, Arrival& arrival);

/// A row on its way to the power that the pool has raised it to. In Student's
/// model its omega is drawn in the first increase, from a mixture q of its
/// prior p and of what the residual makes of it; the density holds p(omega) /
/// q(omega), (S28).
class EnteringRow {
 public:
  EnteringRow(const Arrival& arrival, double power, Rng& rng);

  /// The log of the row's factor of the weight, f being integrated out.
  double log_density(const RowMoments& f, double explained = 0) const;

  /// Takes it in, once the set is settled and f with it.
  void take_in(Particle& particle, const Model& model,
               const CandidatePool& pool, const RowMoments& f, Rng& rng,
               Scratch& scratch) const;

 private:
  bool draws_omega() const;

  const Arrival& arrival_;
  double power_;
  double omega_ = 0, log_factor_ = 0;  // where it is drawn
};

}  // namespace srvm
}  // namespace kernelbayes
