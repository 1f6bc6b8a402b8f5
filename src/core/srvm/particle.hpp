#pragma once

#include <kernelbayes/cholesky.hpp>
#include <vector>

#include "config.hpp"
#include "own_columns.hpp"
#include "pool.hpp"

namespace kernelbayes::srvm {

/// How often each kind of move was tried and accepted in the latest refresh.
struct MoveCounts {
  int tried[3] = {0, 0, 0};  // birth, death, swap
  int accepted[3] = {0, 0, 0};
};

/// Student's weights are not below this: at a low power of a row they would
/// underflow to 0, which has no logarithm for (S29).
constexpr double kLeastWeight = 1e-300;

/// One hypothesis: a set S of centres and psi = (noise, coef), with the factor
/// of A = gain G_SS + I / coef and z = L^-1 gain Phi'y, where gain is 1 /
/// noise, or 1 in the scaled form, (S6). The first rows are the
/// fixed columns of the model; the centres follow in the order of `set`.
///
/// The gram matrix and Phi'y of the set are the particle's own copies of shared
/// sums, so that a refactor reads contiguous memory and its cost does not
/// depend on t.
struct Particle {
  std::vector<int> set;  // candidates
  double noise = 1, coef = 1;
  double df = 0;  // of Student's t
  LowerTriangle gram;
  std::vector<double> rhs;
  Cholesky factor;
  // With a latent variable per row: these by place, and y'y (weighted) or z'z.
  std::vector<double> latent;
  double squares = 0;
  double log_predictive = 0;  // of the latest response, before it entered
  MoveCounts moves;
  /// If bandwidths are learned: gram and rhs are sums of these columns.
  OwnColumns own;

  int k() const { return static_cast<int>(set.size()); }

  void prefetch() const {
    kernelbayes::prefetch(set.data(), set.size());
    kernelbayes::prefetch(rhs.data(), rhs.size());
    gram.prefetch();
    factor.prefetch();
  }
};

/// Work space of one thread.
struct Scratch {
  explicit Scratch(int size) : a(size), b(size), c(size), d(size) {}
  std::vector<double> a, b, c, d;
  Particle spare;
};

/// Refactors A from the gram matrix.
void refactor(Particle& particle, const Model& model);

class Likelihood;

/// Takes in one row of the design matrix, `u`, and its response, both times the
/// root of their weight.
void assimilate(Particle& particle, const Model& model, Scratch& scratch,
                const std::vector<double>& u, double y, double root = 1);

/// Takes out a row, design `u` and response y. With f ~ N(m, v) at the row
/// given the remaining rows, all in units of the noise: log_shrink is -log(1 +
/// v) / 2 and the residual (y - m) / sqrt(1 + v).
struct Released {
  double log_shrink, residual;
};
Released release(Particle& particle, const Model& model, Scratch& scratch,
                 const std::vector<double>& u, double y);

/// Mean and variance of f at a design row given the set, which becomes
/// L^-1 u: (S15).
struct RowMoments {
  double mean, variance;
};
RowMoments row_moments(const Particle& particle, std::vector<double>& u);

/// y'y of a particle's responses: weighted or latent ones are its own.
double squared_responses(const Particle& particle, const Model& model,
                         const CandidatePool& pool);

/// The kernel between the latest row and a centre of the set, or a candidate
/// that is considered; and its column.
double latest_value(const Particle& particle, const CandidatePool& pool, int i);
double latest_value_of(const Particle& particle, const CandidatePool& pool,
                       int candidate);
const double* column(const Particle& particle, const CandidatePool& pool,
                     int i);
const double* column_of(const Particle& particle, const CandidatePool& pool,
                        int candidate);

/// All sums over the rows so far, at the power of the latest one.
void restore_sums(Particle& particle, const CandidatePool& pool);

/// The design row of the latest row of the pool.
void latest_design(const Particle& particle, const Model& model,
                   const CandidatePool& pool, std::vector<double>& u);

/// (S10): log L(S + j) - log L(S) = log_volume + the gain from explaining z^2
/// more; leaves the row of the factor that j would add in `h`. On entry `g`
/// holds the gram entries of j with the set, in its order.
struct Birth {
  int candidate;
  CandidateSums sums;
  double log_ratio, log_volume, pivot, z;
};
Birth score_birth(const Particle& particle, const Likelihood& likelihood,
                  int candidate, const CandidateSums& sums,
                  const std::vector<double>& g, std::vector<double>& h);

void append(Particle& particle, const Birth& birth,
            const std::vector<double>& g, const std::vector<double>& h);

/// (S11): log L(S - i) - log L(S) for the i-th centre of the set. `w` becomes
/// column i of L^-1, whose squares sum to [A^-1]_ii = variance and whose
/// product with z is the coefficient's posterior mean.
struct Death {
  double log_ratio, variance, mean;
};
Death score_death(const Particle& particle, const Likelihood& likelihood, int i,
                  int fixed, std::vector<double>& w);

void erase(Particle& particle, int i, int fixed, std::vector<double>& work);

/// One Gibbs sweep given the set, (S16) or (S17): coefficients (in the shifted
/// scale: the model's shift is still to be added to the intercept) into `beta`,
/// and psi. The factor is left as it is.
void gibbs_draw(Particle& particle, const Model& model,
                const CandidatePool& pool, Rng& rng, std::vector<double>& beta);

/// The same as an update of the particle, with the spreads of its coefficients:
/// omits what only the output needs, and updates the factor for the new psi.
void gibbs_sweep(Particle& particle, const Model& model,
                 const CandidatePool& pool, Rng& rng, Scratch& scratch);

/// y'y minus the explained part is a sum of squares: it cannot be negative
/// unless the particle is beyond double precision.
bool residual_is_valid(const Particle& particle, const Model& model,
                       const CandidatePool& pool);

}  // namespace kernelbayes::srvm
