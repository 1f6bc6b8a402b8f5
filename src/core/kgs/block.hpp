#pragma once

#include "../linalg.hpp"
#include "kernelbayes/rng.hpp"

namespace kernelbayes::kgs {

/// Two classes with a nugget: labels depend on u = f + sqrt(nugget) e, e
/// standard normal, and f = features v. Given f the u_i are independent; given
/// u, f is normal: two blocks.
class Block {
 public:
  /// @param signs Labels, 1 or -1.
  Block(const Eigen::MatrixXd& features, const Eigen::VectorXd& signs,
        double nugget);

  /// Rates of label 1 if u < 0 and of label -1 if u > 0.
  void step(double below, double above, Rng& rng);

  const Eigen::VectorXd& latent() const { return u_; }
  void set_latent(const Eigen::VectorXd& u) { u_ = u; }

  /// E(v | u) divided by the length of the vector with components u, which has
  /// a standard normal prior: the part of its direction in the span of the
  /// features.
  Eigen::VectorXd direction() const;

 private:
  void draw_features(Rng& rng);
  void draw_latent(double below, double above, Rng& rng);
  Eigen::VectorXd mean() const;

  Eigen::MatrixXd axes_, turned_;  // principal axes, features along them
  Eigen::VectorXd spectrum_;       // squared singular values of the features
  Eigen::VectorXd signs_, f_, u_;
  double nugget_;
};

}  // namespace kernelbayes::kgs
