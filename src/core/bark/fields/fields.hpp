#pragma once

#include "core/bark/coefficients/open.hpp"

namespace kernelbayes::bark {

/// Classes of the rows, from 0.
struct Classes {
  std::vector<int> of_row;
  int count;
};

/// The state of a multinomial probit model: each class k has a function f_k,
/// the field, with its own kernels and scales, all with the same prior, and the
/// class of row i is the one with the largest latent response z_ik = f_k(x_i) +
/// N(0, 1). Each field is the state of a probit model given its responses.
/// Adding a function to all fields changes no class: only the prior determines
/// it, and treats the classes equally (with a base class it would not, because
/// differences of two fields share that of the base). See derivations/bark.md,
/// section 6.2.
class Fields {
 public:
  /// `data` with any signs as y, which are not used.
  Fields(const Data& data, const Prior& prior, const Classes& classes);

  int n() const { return static_cast<int>(classes_->of_row.size()); }
  int size() const { return static_cast<int>(fields_.size()); }
  int label(int row) const { return classes_->of_row[row]; }
  /// A latent response, offset included.
  double latent(int row, int k) const {
    return fields_[k].response()[row] + fields_[k].offset(row);
  }
  State& operator[](int k) { return fields_[k]; }
  const State& operator[](int k) const { return fields_[k]; }

  /// Where the responses of field k may be, given the others.
  Intervals intervals(int k) const;

  void set_amplitude(double amplitude);
  /// Latent responses without the offset, a column per class.
  void set_responses(const Eigen::MatrixXd& z);

 private:
  const Classes* classes_;
  std::vector<State> fields_;
};

/// All latent responses given the kernels, coefficients integrated out: row by
/// row, each in turn, (B49), then all of the row by a common amount, (B54).
void latent_move(Fields& fields, Rng& rng);

/// All latent responses by one factor, or by a common multiple of one function
/// of the rows, (B55): the largest stays the largest.
void latent_scale_move(Fields& fields, Rng& rng);
void latent_shift_move(Fields& fields, Rng& rng);

/// Latent responses under the model without kernels.
void draw_latent(Fields& fields, Rng& rng);

/// log p(classes | f), f without the offset, a column per class.
double class_log_likelihood(const Fields& fields, const Eigen::MatrixXd& f);

/// Multiplies all coefficients of a field by one factor, and every varphi with
/// them, like magnitude_move() for two classes: latent responses are
/// temporarily integrated out, except for the noise of each row's own class.
/// Given that noise the probability that the other responses stay below is a
/// product, without quadrature. Any number of moves may be made between a draw
/// of the coefficients and a draw of the responses.
class Magnitudes {
 public:
  Magnitudes(const Fields& fields, Rng& rng);

  /// Is there a draw of the coefficients? This depends on the kernels only. If
  /// not, there is nothing to do.
  bool ok() const { return ok_; }
  /// For field `which`, or for all fields together if it is negative.
  bool move(int which, double step, Rng& rng);
  /// The fields passed in.
  void finish(Fields& fields, Rng& rng) const;

 private:
  double log_below(const Eigen::MatrixXd& f) const;
  double eta(const Eigen::MatrixXd& f, int row, int k) const {
    return f(row, k) + (*fields_)[k].offset(row);
  }

  struct Varphi {
    double count = 0, sum = 0, log_factor = 0;
  };
  const Fields* fields_;
  const Prior* prior_;
  Eigen::MatrixXd f_;
  Eigen::VectorXd noise_;
  std::vector<Varphi> varphi_;
  double log_below_ = 0;
  bool ok_ = true;
};

}  // namespace kernelbayes::bark
