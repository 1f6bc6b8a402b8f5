#pragma once

#include "core/bark/coefficients/mode.hpp"
#include "core/bark/scales/scales.hpp"
#include "core/bark/state/state.hpp"
#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

/// A sum of kernels with their own scales and terms beside it, all
/// coefficients in the state, for the likelihood of any family. A move of one
/// kernel draws its coefficient from nearly its conditional distribution, that
/// of the normal likelihood with the derivatives at f, and is accepted or
/// rejected with the likelihood itself: O(n). See derivations/bark.md, section
/// 6.6.
class GlmState {
 public:
  GlmState(const Data& data, const Prior& prior);
  /// With a likelihood of its own in place of that of the data's family.
  GlmState(const Data& data, const Prior& prior, LikelihoodPtr likelihood);

  const Data& data() const { return *data_; }
  const Prior& prior() const { return *prior_; }
  const Pool& pool() const { return pool_; }
  void set_pool(Pool pool) { pool_ = std::move(pool); }
  int size() const { return static_cast<int>(slots_.size()); }
  int copies() const { return size(); }
  const Slot& slot(int j) const { return slots_[j]; }
  Place place(int j) const { return {slots_[j].location, slots_[j].shape}; }
  double beta(int j) const { return beta_[j]; }
  const TermValues& terms() const { return terms_.values(); }
  /// Of all rows, offset and linear terms included.
  const Eigen::VectorXd& fit() const { return fit_; }
  const GlmLikelihood& likelihood() const { return *likelihood_; }
  double log_likelihood() const { return at_.log_likelihood; }
  /// The mean over the rows of the sum of kernels.
  double kernel_mean() const;
  /// Those of all kernels, which have no meaning here.
  const std::vector<double>& log_lambda() const { return none_; }
  const std::vector<char>& included() const { return nothing_; }
  Eigen::VectorXd exponents(const Place& place, Eigen::Index first,
                            Eigen::Index stride) const {
    return columns_.strided_exponents(place, first, stride);
  }

  /// Columns of kernels, f and the derivatives, from the rest.
  void compute();

  // Metropolis-Hastings steps; log_ratio is that of all but the likelihood, the
  // coefficient and varphi. True if the state changed.
  bool add(const Place& place, double log_ratio, Rng& rng);
  /// The last slot moves to the place of j.
  bool remove(int j, double log_ratio, Rng& rng);
  bool replace(int j, const Place& place, double log_ratio, Rng& rng);

  /// Other shapes of all kernels, coefficients kept.
  bool reshape(const std::vector<ShapePointer>& shapes, double log_ratio,
               Rng& rng);

  /// Those of kernels and linear terms given every varphi, then every varphi.
  bool move_coefficients(Rng& rng);
  /// The coefficients of groups, factor by factor, and their covariances.
  void move_groups(Rng& rng);
  /// The standard deviation of slopes, and the slopes with it.
  void move_slopes(Rng& rng);
  /// The parameters of the family given f.
  void move_parameters(Rng& rng);
  void shift_linear(const Eigen::VectorXd& by);
  Eigen::VectorXd linear_sd() const { return terms_.linear_sd(); }

  /// Everything from the prior.
  void draw_prior(Rng& rng);
  /// Other responses.
  void set_response(Data& data, Eigen::VectorXd y);
  void transfer(Archive& archive);

 private:
  using Derivatives = Likelihood::Derivatives;

  Eigen::VectorXd make_column(const Place& place) const;
  Information working(const Derivatives& at, const Eigen::VectorXd& column,
                      const Eigen::VectorXd* leaving, double beta) const;
  auto column(int j) const { return values_.col(j); }
  void put(int j, const Place& place, const Eigen::VectorXd& values,
           double varphi, double beta);
  void take(Eigen::VectorXd fit, Derivatives at);
  /// f and the derivatives, with these terms.
  void compute_fit(const TermValues& terms);
  Eigen::VectorXd offset() const;
  Eigen::VectorXd linear_mean() const;
  void move_groups(int factor, TermValues& values, Rng& rng);
  void scale_groups(int factor, int coefficient, TermValues& values, Rng& rng);
  double draw_varphi(double beta, Rng& rng) const;

  const Data* data_;
  const Prior* prior_;
  Pool pool_;
  KernelColumns columns_;
  std::unique_ptr<GlmLikelihood> likelihood_;
  std::vector<Slot> slots_;
  std::vector<double> beta_;
  Terms terms_;
  Eigen::MatrixXd values_;  // all columns in memory
  Eigen::VectorXd fit_;
  Derivatives at_;  // of the likelihood, at fit_
  std::vector<double> none_;
  std::vector<char> nothing_;
};

// Moves of a GlmState, with the ratios of a State, (B25) and (B27). Those of
// scales are in moves.hpp.
bool birth_death_move(GlmState& state, Rng& rng);
bool relocate_move(GlmState& state, Rng& rng);
bool local_move(GlmState& state, Rng& rng);
bool move_kernel(GlmState& state, int j, const Place& place,
                 double log_proposal, double power, Rng& rng);
bool try_shapes(GlmState& state, const std::vector<ShapePointer>& shapes,
                double log_ratio, double power, Rng& rng);
/// Common scales do not exist here.
bool try_scales(GlmState& state, const ScaleChange& change, double log_ratio,
                double power, Rng& rng);

}  // namespace kernelbayes::bark
