#pragma once

#include "fields.hpp"

namespace kernelbayes::bark {

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
