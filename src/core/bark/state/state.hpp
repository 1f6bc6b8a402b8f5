#pragma once

#include "kernel_columns.hpp"

namespace kernelbayes {

class Archive;

namespace bark {

/// A location (0 is the intercept, i > 0 row i - 1 of x) that holds copies of
/// its kernel. Its coefficient has variance n^2 / varphi (collapsed), or the
/// sum of 1 / varphi over the copies, (B9). If kernels have their own shapes,
/// every copy has its own slot.
struct Slot {
  int location = 0;
  int copies = 1;
  std::vector<double> varphi;
  ShapePointer shape;

  double variance(bool collapsed) const {
    if (collapsed) return double(copies) * copies / varphi[0];
    double sum = 0;
    for (const double v : varphi) sum += 1 / v;
    return sum;
  }
};

/// The kernels of a state, to or from an archive.
void transfer_slots(Archive& archive, std::vector<Slot>& slots,
                    const Data& data, const Prior& prior);

/// The information of the data on a coefficient given the other slots: its
/// likelihood is that of one normal observation, exp(score beta - precision
/// beta^2 / 2). State gives it in units in which the amplitude is 1. (B19).
struct Information {
  double precision, score;

  /// log of the likelihood with beta ~ N(0, v), against beta = 0: (B20).
  double log_ratio(double v) const {
    const double scaled = 1 + precision * v;
    return 0.5 * (score * score * v / scaled - std::log(scaled));
  }
};

/// The effect of changing the variance of one coefficient: v_j -> v (0 removes
/// the slot). Sig becomes Sig - kappa Sig_:j Sig_j:, mu - kappa mu_j Sig_:j,
/// (B21).
struct Change {
  int slot;
  double kappa, log_ratio;
};

/// A column that may be added: its products with the existing columns.
struct Column {
  Place place;
  Eigen::VectorXd exponents, values, gram;  // gram: K'Wk
  double own, response;                     // k'Wk, k'Wy
};

/// The kernel part of a state and its likelihood with the coefficients
/// integrated out: y ~ N(K beta, 1 / (phi w)), beta_j ~ N(0, v_j). Columns of K
/// belong to slots; Sig = (phi G + diag(1 / v))^-1 and mu are the posterior
/// covariance and mean of beta, (B14) to (B16). Rows of K and y are stored
/// multiplied by sqrt(w); for Student-t noise w is the given weight times that
/// of the state. In a model of classes y is the latent response, part of the
/// state. The amplitude multiplies all v: the rungs of tempered models of
/// classes and of Student-t noise differ in it.
///
/// If the prior has directions, these are part of the state too: the input of
/// kernels is z = x U, the columns of U unit vectors, instead of x, and there
/// is a scale for each column of z.
class State {
 public:
  State(const Data& data, const Prior& prior);

  const Data& data() const { return *data_; }
  const Prior& prior() const { return *prior_; }
  int size() const { return static_cast<int>(slots_.size()); }
  int copies() const { return copies_; }
  const Slot& slot(int j) const { return slots_[j]; }
  /// The slot that a copy at a location would join, or -1.
  int find(int location) const { return prior_->shaped() ? -1 : at_[location]; }
  /// Of the coefficient: the slot's variance times the amplitude.
  double variance(int j) const { return variance_[j]; }
  /// log N(y; 0, K V K' + 1 / (phi w)), y the response of this state.
  double log_likelihood() const { return log_likelihood_; }
  double amplitude() const { return amplitude_; }
  double noise() const { return phi_; }  // precision
  Eigen::Ref<const Eigen::MatrixXd> covariance() const {
    return covariance_.topLeftCorner(size(), size());
  }
  Eigen::Ref<const Eigen::VectorXd> mean() const { return mean_.head(size()); }
  /// sqrt(w) K and sqrt(w) y.
  Eigen::Ref<const Eigen::MatrixXd> columns() const {
    return columns_.values().leftCols(size());
  }
  Eigen::VectorXd exponents(int j) const { return columns_.exponents().col(j); }
  // See Response.
  const Eigen::VectorXd& response() const { return response_.values(); }
  const Eigen::VectorXd& row_weights() const { return response_.row_weights(); }
  double df() const { return response_.df(); }
  const std::vector<double>& cuts() const { return response_.cuts(); }
  const std::vector<double>& log_gaps() const { return response_.log_gaps(); }
  /// The latent response of a row without its offset is between these, (B107).
  double lower(Eigen::Index i) const {
    return cuts()[data_->level(i)] - offset(i);
  }
  double upper(Eigen::Index i) const {
    return cuts()[data_->level(i) + 1] - offset(i);
  }
  double offset(Eigen::Index i) const {
    return response_.shift().size() > 0 ? response_.shift()[i] : 0;
  }
  const Response& response_model() const { return response_; }
  // See KernelColumns.
  const KernelColumns& kernel_columns() const { return columns_; }
  const Eigen::MatrixXd& directions() const { return columns_.directions(); }
  const Eigen::MatrixXd& inputs() const { return columns_.inputs(); }
  const std::vector<double>& log_lambda() const {
    return columns_.log_lambda();
  }
  const std::vector<char>& included() const { return columns_.included(); }
  int n_included() const { return columns_.n_included(); }
  double total_scale() const { return columns_.total_scale(); }
  /// If scales are pooled.
  const Pool& pool() const { return pool_; }
  void set_pool(Pool pool) { pool_ = std::move(pool); }

  // Coefficient variances (without amplitude); ratios in O(1), O(m^2) --------
  Information information(int j) const;
  Information information(const Column& column) const;
  /// The same after another change.
  Information information(const Column& column, const Change& before) const;
  /// Of a column with k'Wk = own, g'Sig g = explained and k'Wy - g'mu = score
  /// if so much of the response is left, in units of the coefficient.
  Information information(double own, double explained, double score,
                          double left_of_response) const;
  /// y'Wy - y'WK mu, now and after a change.
  double left_of_response() const;
  double left_of_response(const Change& before) const;
  Information in_slot_units(double precision, double score) const;
  Change score_change(int j, double variance) const;
  /// The same after another change of a different slot.
  Change score_change(int j, double variance, const Change& before) const;
  /// In memory of the state, until the next one is made. `from`: the slot that
  /// the kernel may replace, if any.
  const Column& make_column(const Place& place, int from = -1);
  /// Exponents and values of columns, one per place.
  void fill_columns(const std::vector<Place>& places,
                    Eigen::MatrixXd& exponents, Eigen::MatrixXd& values) const;

  /// Apply a change. set_slot() takes the new slot; remove() moves the last
  /// slot to its place; add() appends; replace() puts another kernel in the
  /// place of a slot that a change removes.
  void set_slot(const Change& change, Slot slot);
  void remove(const Change& change);
  void add(const Column& column, Slot slot);
  void replace(const Change& out, const Column& column, Slot slot);
  /// Replaces a slot's copies and varphi without changing its variance, up to
  /// rounding.
  void relabel(int j, Slot slot);

  // Scales, directions and noise: proposed, which gives the log likelihood, and
  // then accepted or dropped ---------------------------------------------
  double propose_scales(const ScaleChange& change);
  double propose_direction(int l, Eigen::VectorXd direction);
  double propose_noise(double phi);
  /// Other shapes of the kernels at the same locations; columns of those that
  /// are the same objects are kept.
  double propose_shapes(std::vector<ShapePointer> shapes);
  void accept_proposal();

  /// Sets the response, the amplitude, or all varphi.
  void set_response(Eigen::VectorXd response);
  void set_amplitude(double amplitude);
  void scale_varphi(double factor);
  /// Row weights must then be set.
  void set_df(double df) { response_.set_df(df); }
  void set_noise(double phi) { phi_ = phi; }
  /// Sets the coefficients of terms, the noise and (if they are not empty) row
  /// weights, and recomputes all that depends on them. `turn`: the next factor
  /// of groups becomes active.
  void set_terms(TermValues values, bool turn, double phi,
                 Eigen::VectorXd weights);
  /// Fixes all terms until they are set again, see Response.
  void fix_terms(TermValues values);
  /// Sets omega and recomputes all that depends on it and on the noise.
  void set_row_weights(Eigen::VectorXd weights);
  /// Sets the cut points only: a compatible latent response must then be set.
  void set_log_gaps(std::vector<double> log_gaps) {
    response_.set_log_gaps(std::move(log_gaps));
  }
  /// The log likelihood at another amplitude, which may be 0 (at which no
  /// coefficient can change).
  double log_likelihood_at(double amplitude) const;

  /// Sets U only: columns of K that depend on it must then be recomputed.
  void set_directions(const Eigen::MatrixXd& directions) {
    columns_.set_directions(directions);
  }
  /// A direction that no kernel uses, because its scale is not included.
  void set_idle_direction(int l, const Eigen::VectorXd& direction) {
    columns_.set_direction(l, direction);
  }

  /// Sets everything except response, cut points, directions, amplitude and, if
  /// they are empty, row weights.
  void assign(std::vector<Slot> slots, std::vector<double> log_lambda,
              std::vector<char> included, double phi,
              Eigen::VectorXd row_weights = {});

  // See KernelColumns.
  Eigen::MatrixXd lend_columns() { return columns_.lend_values(); }
  void take_back(Eigen::MatrixXd columns);

  /// Recomputes everything from slots, scales and noise, which restores the
  /// accuracy that updates have lost. False if it cannot be computed; the
  /// likelihood is then minus infinity.
  bool refresh();

  /// `updates`: includes the accumulated updates, which a run needs to continue
  /// to the same bits without a refresh. Must be read at the same amplitude.
  void transfer(Archive& archive, bool updates);

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

  /// Coefficients given all else: (B17).
  static Eigen::VectorXd draw_coefficients(const Factor& factor, Rng& rng);

 private:
  void transfer_updates(Archive& archive);
  void set_variances();
  void reserve(int slots);
  void resize_sums(int slots);
  std::vector<Place> places() const;
  double propose_columns();
  void place(std::vector<Slot> slots);
  void set_at(int location, int slot);
  Eigen::VectorXd deviations() const;
  void shrink(const Change& change);
  double take_column(int j, const Column& column, double variance);
  Change change_of(int j, double own, double mean, double variance,
                   double before) const;

  void sum_up(const Eigen::MatrixXd& values, Eigen::MatrixXd& gram,
              Eigen::VectorXd& product) const;
  Factor scaled_factor(const Eigen::MatrixXd& values,
                       const Eigen::MatrixXd& gram,
                       const Eigen::VectorXd& product, double phi,
                       const Eigen::VectorXd& deviations) const;
  Factor scaled_factor_by_qr(const Eigen::MatrixXd& values,
                             const Eigen::VectorXd& s, double phi) const;
  double log_likelihood_of(const Factor& scaled, double phi) const;
  bool take_factor(const Factor& scaled);
  /// What follows from the current exponents, or from the current sums.
  void recompute_values();
  bool refactor();

  const Data* data_;
  const Prior* prior_;
  Response response_;
  KernelColumns columns_;
  Pool pool_;

  std::vector<Slot> slots_;
  std::vector<int> at_;
  std::vector<double> variance_;
  int copies_ = 0;
  double phi_ = 1, amplitude_ = 1;
  // All rows and columns in memory.
  Eigen::MatrixXd gram_, covariance_;
  Eigen::VectorXd product_, mean_;  // K'Wy, mu
  double log_likelihood_ = 0;
  Column made_;

  struct Proposal {
    bool columns = false;
    double phi = 1;
    std::vector<ShapePointer> shapes;  // empty if they stay
    Eigen::MatrixXd gram;
    Eigen::VectorXd product;
    Factor factor;
  } next_;
};

}  // namespace bark
}  // namespace kernelbayes
