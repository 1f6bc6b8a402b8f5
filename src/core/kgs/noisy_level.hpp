#pragma once

#include "core/tempered.hpp"
#include "guess.hpp"
#include "samplers.hpp"

namespace kernelbayes::kgs {

/// Kept draws, one after another: w (rank x functions), log s, the rates, the
/// logarithms of inverse bandwidths, the log likelihood, and the expected
/// number of wrong labels by class; and for each label the sum of its
/// probabilities of being wrong.
struct NoisyDraws {
  explicit NoisyDraws(const NoisyModel& model)
      : flipped(model.labels.size(), 0) {}
  void transfer(Archive& archive);

  std::vector<double> w, log_s, rates, log_inverse, log_lik, wrong, flipped;
};

/// Learns w, the scale s, the rates of wrong labels and the bandwidths of
/// functions with noise. derivations/kgs.md, section 2.7.
class NoisyLevel {
 public:
  using Model = NoisyModel;
  using Draws = NoisyDraws;
  using Counts = NoCounts;

  NoisyLevel(const NoisyModel& model, int index, Rng& rng);

  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  double observe() const { return 0; }
  void transfer(Archive& archive);
  friend bool exchange(NoisyLevel&, NoisyLevel&, Rng&) { return false; }

 private:
  /// What depends on the bandwidths alone.
  struct Place {
    Eigen::VectorXd x;  // see Proposal
    Span span;
    Whitened whitened;
  };
  double s() const { return std::exp(log_s_); }
  Eigen::MatrixXd eta() const;
  Eigen::VectorXd log_inverse(const Eigen::VectorXd& x) const;
  Place place_at(Eigen::VectorXd x) const;
  Eigen::MatrixXd draw_all(const Eigen::MatrixXd& w, Rng& rng) const;
  double log_density(const Place& place, const Eigen::MatrixXd& u,
                     double log_s) const;

  double move_w(Rng& rng);
  void move_rates(Rng& rng);
  double bound_of_sum() const;
  void move_scale(Rng& rng);
  void move_along_line(Rng& rng);
  void adapt(const Turn& turn);
  double log_scale_prior(double log_s) const;
  void move_bandwidths(bool walk, Rng& rng);

  const NoisyModel* model_;
  Guess guess_;
  Averages averages_;
  Place place_;
  Eigen::MatrixXd w_;
  double log_s_;
  Rates rates_;
  StepSize step_;
};

}  // namespace kernelbayes::kgs
