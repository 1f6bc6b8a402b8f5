#pragma once

#include "model.hpp"

namespace kernelbayes {
namespace bark {

/// A location (0 is the intercept, i > 0 row i - 1 of x) that holds copies of
/// its kernel. Its coefficient has variance n^2 / varphi (collapsed), or the
/// sum of 1 / varphi over the copies.
struct Slot {
  int location = 0;
  int copies = 1;
  std::vector<double> varphi;

  double variance(bool collapsed) const {
    if (collapsed) return double(copies) * copies / varphi[0];
    double sum = 0;
    for (const double v : varphi) sum += 1 / v;
    return sum;
  }
};

/// What a change of one coefficient's variance does: v_j -> v (0 removes the
/// slot). Sig becomes Sig - kappa Sig_:j Sig_j:, mu - kappa mu_j Sig_:j.
struct Change {
  int slot;
  double variance, kappa, log_ratio;
};

/// A column that may join: its products with those present.
struct Column {
  int location;
  Eigen::VectorXd values, gram;  // gram: K'Wk
  double own, response;                     // k'Wk, k'Wy
};

/// The kernel part of a state and its likelihood with the coefficients
/// integrated out: y ~ N(K beta, 1 / (phi w)), beta_j ~ N(0, v_j). Columns
/// of K belong to slots; Sig = (phi G + diag(1 / v))^-1 and mu are the
/// posterior covariance and mean of beta. In a probit model y here is the
/// latent response, part of the state. The amplitude multiplies all v: rungs of
/// tempered probit models differ in it.
class State {
 public:
  State(const Data& data, const Prior& prior);

  const Data& data() const { return *data_; }
  const Prior& prior() const { return *prior_; }
  int size() const { return static_cast<int>(slots_.size()); }
  int copies() const { return copies_; }
  const Slot& slot(int j) const { return slots_[j]; }
  /// The slot at a location, or -1.
  int find(int location) const { return at_[location]; }
  /// Of the coefficient: what the slot says times the amplitude.
  double variance(int j) const { return variance_[j]; }
  /// log N(y; 0, K V K' + 1 / (phi w)), y the response of this state.
  double log_likelihood() const { return log_likelihood_; }
  const Eigen::VectorXd& response() const { return response_; }
  double amplitude() const { return amplitude_; }
  double noise() const { return phi_; }  // precision
  Eigen::Ref<const Eigen::MatrixXd> covariance() const {
    return covariance_.topLeftCorner(size(), size());
  }
  Eigen::Ref<const Eigen::VectorXd> mean() const { return mean_.head(size()); }
  Eigen::Ref<const Eigen::MatrixXd> columns() const {
    return values_.topLeftCorner(data_->n(), size());
  }

  /// log lambda_l of included predictors, and their number.
  const std::vector<double>& log_lambda() const { return log_lambda_; }
  const std::vector<char>& included() const { return included_; }
  int n_included() const { return n_included_; }
  double total_scale() const;

  // Coefficient variances (as slots say), likelihood ratios in O(1), O(m) ---
  Change score_change(int j, double variance) const;
  /// The same after another change of a different slot.
  Change score_change(int j, double variance, const Change& before) const;
  Column make_column(int location) const;
  double score_add(const Column& column, double variance) const;
  double score_add(const Column& column, double variance,
                   const Change& before) const;

  /// Carry out. set_slot() takes what the slot becomes; remove() moves the
  /// last slot to its place; add() appends.
  void set_slot(const Change& change, Slot slot);
  void remove(const Change& change);
  void add(const Column& column, Slot slot);
  /// Replaces a slot's copies and varphi without a change of variance.
  void relabel(int j, Slot slot);

  // Everything else: computed afresh ---------------------------------------
  /// Sets scales and noise; all columns and sums follow. The state before can
  /// be brought back by undo(), once.
  void set_scales(std::vector<double> log_lambda, std::vector<char> included);
  void set_noise(double phi);
  void undo();
  /// Sets the response, the amplitude, or all varphi; not undone.
  void set_response(Eigen::VectorXd response);
  void scale_varphi(double factor);
  void set_amplitude(double amplitude);
  /// The log likelihood that another amplitude would give, 0 included (an
  /// amplitude at which no coefficient can change).
  double log_likelihood_at(double amplitude) const;
  /// Sets all there is but response and amplitude.
  void assign(std::vector<Slot> slots, std::vector<double> log_lambda,
              std::vector<char> included, double phi);

  /// All that a state is, to the last bit: what updates have left behind too.
  /// To be restored at the same amplitude.
  struct Saved {
    std::vector<Slot> slots;
    std::vector<double> log_lambda;
    std::vector<char> included;
    double phi = 1, log_likelihood = 0;
    Eigen::MatrixXd gram, covariance;
    Eigen::VectorXd product, mean;
    Eigen::VectorXd latent;  // empty where the response is the data's
  };
  Saved save() const;
  void restore(Saved saved);

  /// Covariance, mean and likelihood from the sums. False if they cannot be
  /// computed; the likelihood is then minus infinity.
  bool refresh();

  /// The factor L of Sig^-1 = LL' and z = L^-1 phi K'Wy: the mean of the
  /// coefficients is L'^-1 z.
  struct Factor {
    Eigen::MatrixXd lower;
    Eigen::VectorXd z;
    bool ok = true;
  };
  Factor factor() const;
  /// The same without data.
  Factor prior_factor() const;

  /// Coefficients given all else.
  static Eigen::VectorXd draw_coefficients(const Factor& factor, Rng& rng);

 private:
  void reserve(int slots);
  void fill_column(int location, Eigen::Ref<Eigen::VectorXd> out) const;
  void place(std::vector<Slot> slots);
  void include(std::vector<double> log_lambda, std::vector<char> included);
  void rebuild_columns();
  void rebuild_sums();
  double log_likelihood_without_slots() const;
  Eigen::VectorXd deviations() const;
  Factor scaled_factor(const Eigen::VectorXd& s) const;
  Factor scaled_factor_by_qr(const Eigen::VectorXd& s) const;
  void shrink(const Change& change);
  Change change_of(int j, double own, double mean, double variance,
                   double before) const;
  void keep();

  const Data* data_;
  const Prior* prior_;
  std::vector<Slot> slots_;
  std::vector<int> at_;
  std::vector<double> variance_;
  int copies_ = 0;
  std::vector<double> log_lambda_;
  std::vector<char> included_;
  int n_included_ = 0;
  double phi_ = 1, amplitude_ = 1;
  Eigen::VectorXd response_;
  Eigen::MatrixXd values_;  // the first n rows: see padded()
  Eigen::MatrixXd gram_, covariance_;
  Eigen::VectorXd product_, mean_;      // K'Wy, mu
  double squares_;                      // y'Wy
  double log_weights_;                  // sum of log w, halved
  double log_likelihood_ = 0;
  // What undo() brings back.
  struct Kept {
    std::vector<double> log_lambda;
    std::vector<char> included;
    double phi = 1, log_likelihood = 0;
    bool columns = false;
    Eigen::MatrixXd values, gram, covariance;
    Eigen::VectorXd product, mean;
  } kept_;
};

}  // namespace bark
}  // namespace kernelbayes
