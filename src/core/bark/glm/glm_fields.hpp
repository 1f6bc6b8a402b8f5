#pragma once

#include "core/bark/fields/fields_chain.hpp"
#include "glm_state.hpp"

namespace kernelbayes::bark {

/// Whether a row is of class k, given the functions of the other classes: a
/// logit model with an offset, (B137).
class FieldLikelihood;

/// The state of a multinomial logit model: each class k has a function f_k, the
/// field, with its own kernels, scales and terms, all with the same prior; the
/// class of row i is k with probability exp(f_k(x_i)) / sum_j exp(f_j(x_i)).
/// See derivations/bark.md, section 6.8.
class GlmFields {
 public:
  /// y of `data` is not used.
  GlmFields(const Data& data, const Prior& prior, const Classes& classes);

  int size() const { return static_cast<int>(fields_.size()); }
  const GlmState& operator[](int k) const { return fields_[k]; }
  double log_likelihood() const;

  /// All moves of field k given the other fields.
  void sweep(int k, int rounds, Counts& counts, Rng& rng);
  /// Those of all fields.
  void sweep(int rounds, Counts& counts, Rng& rng);
  /// Adds the same to the linear coefficients of all fields, which changes no
  /// probability: from their prior given their differences.
  void shift_linear(Rng& rng);

  void draw_prior(Rng& rng);
  /// The probabilities of the classes, n x C.
  Eigen::MatrixXd probabilities() const;
  void set_classes(const std::vector<int>& of_row);
  void transfer(Archive& archive);

 private:
  Eigen::VectorXd log_sum(int but) const;

  const Data* data_;
  Classes classes_;
  std::vector<GlmState> fields_;
  std::vector<FieldLikelihood*> likelihoods_;  // of the fields, which own them
};

/// The chain of several classes with a logit link.
class GlmFieldsChain {
 public:
  using Draws = FieldsDraws;
  static constexpr bool kRungs = false;

  GlmFieldsChain(const Model& model, const Rung&)
      : model_(&model), fields_(model.data, model.prior, model.classes) {}
  void draw_start(Rng&) {}
  void draw_prior(Rng& rng) { fields_.draw_prior(rng); }
  void sweep(const Turn& turn, const Rung&, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  void transfer(Archive& archive) { fields_.transfer(archive); }

 private:
  const Model* model_;
  GlmFields fields_;
};

}  // namespace kernelbayes::bark
