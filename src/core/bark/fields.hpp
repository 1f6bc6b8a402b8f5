#pragma once

#include "moves.hpp"

namespace kernelbayes {
namespace bark {

/// Classes of the rows, from 0.
struct Classes {
  std::vector<int> of_row;
  int count;
};

/// The state of a multinomial probit model: each class k has a function f_k
/// with kernels and scales of its own, all with the same prior, and row i is of
/// the class whose latent response z_ik = f_k(x_i) + N(0, 1) is the largest.
/// Each field is the state of a probit model that is given its responses. A
/// function added to all fields changes no class: the prior alone says how the
/// fields lie, and treats the classes alike (against a base class it would not,
/// as differences of two fields share that of the base). See
/// derivations/bark.md, section 6.2.
class Fields {
 public:
  /// `data` with any signs as y, of which nothing is used.
  Fields(const Data& data, const Prior& prior, const Classes& classes);

  int n() const { return static_cast<int>(classes_->of_row.size()); }
  int size() const { return static_cast<int>(fields_.size()); }
  int label(int row) const { return classes_->of_row[row]; }
  State& operator[](int k) { return fields_[k]; }
  const State& operator[](int k) const { return fields_[k]; }

  void set_amplitude(double amplitude);
  /// Latent responses, a column a class.
  void set_responses(const Eigen::MatrixXd& z);

 private:
  const Classes* classes_;
  std::vector<State> fields_;
};

/// All latent responses given the kernels, coefficients integrated out: row by
/// row each in turn, (B49), then those of the row by a common amount, (B54).
void latent_move(Fields& fields, Rng& rng);

/// All latent responses by one factor, or by a common multiple of one function
/// of the rows, (B55): the largest stays the largest.
void latent_scale_move(Fields& fields, Rng& rng);
void latent_shift_move(Fields& fields, Rng& rng);

/// Latent responses as they are without kernels.
void draw_latent(Fields& fields, Rng& rng);

/// log p(classes | f), f with a column a class.
double class_log_likelihood(const Fields& fields, const Eigen::MatrixXd& f);

}  // namespace bark
}  // namespace kernelbayes
