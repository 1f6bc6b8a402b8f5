#pragma once

#include "fields.hpp"

namespace kernelbayes {
namespace bark {

/// All coefficients of a field by one factor and every varphi with them, as
/// magnitude_move() of two classes: latent responses are left out for a while,
/// but that the noise of each row's own class is kept. Given it the probability
/// that the other responses stay below is a product, without a quadrature.
/// Between a draw of the coefficients and one of the responses there can be any
/// number of moves.
class Magnitudes {
 public:
  Magnitudes(const Fields& fields, Rng& rng);

  /// Whether there is a draw of the coefficients: that rests on the kernels
  /// alone. If not there is nothing to do.
  bool ok() const { return ok_; }
  /// Of field `which`, or of all fields together if it is negative.
  bool move(int which, double step, Rng& rng);
  /// To the fields that were given.
  void finish(Fields& fields, Rng& rng) const;

 private:
  double log_below(const Eigen::MatrixXd& f) const;

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

}  // namespace bark
}  // namespace kernelbayes
