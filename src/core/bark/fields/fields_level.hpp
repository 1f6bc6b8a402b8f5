#pragma once

#include "core/bark/chain/level.hpp"

namespace kernelbayes::bark {

/// Draws of the field of each class, and the log likelihood of all classes
/// given the coefficients.
struct FieldsDraws {
  explicit FieldsDraws(const Model& model)
      : model(&model),
        fields(model.classes.count),
        terms(model.classes.count) {}
  void transfer(Archive& archive);

  const Model* model;
  std::vector<KernelDraws> fields;
  std::vector<TermDraws> terms;  // of each field
  std::vector<double> log_likelihood;
};

/// The fields of a multinomial probit model at a rung, with moves of each field
/// and joint moves; the counterpart of Level for other families. At rung 0 of a
/// ladder each of C classes has probability 1 / C at each row.
class FieldsLevel {
 public:
  using Model = bark::Model;
  using Draws = FieldsDraws;
  using Counts = bark::Counts;

  FieldsLevel(const Model& model, int index, Rng& rng);
  FieldsLevel(const Data& data, const Prior& prior, const Classes& classes,
              const Rung& rung);

  void sweep(const Turn& turn, Counts& counts, Rng& rng);
  void sweep(bool full, bool adapt, Counts& counts, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  double observe() const;
  void transfer(Archive& archive);

  /// Kernels, scales and responses at the start of chains, or from the prior.
  void draw_start(Rng& rng);
  void draw_prior(Rng& rng);
  /// log of the likelihood of the fields at a rung, raised to the rung's power.
  double tempered(const Rung& rung) const;

  const Rung& rung() const { return rung_; }
  const Fields& fields() const { return fields_; }
  Fields& fields() { return fields_; }

 private:
  void latent(bool adapt, Counts& counts, Rng& rng);
  bool fix_terms(Rng& rng);

  const Model* model_ = nullptr;
  int index_ = 0;
  Rung rung_;
  Fields fields_;
  std::vector<Sweep> sweeps_;
  std::vector<Steps::One> magnitude_;  // of each field, then of all
};

/// Proposes to exchange the fields of two levels: (B61).
bool exchange(FieldsLevel& one, FieldsLevel& other, Rng& rng);

}  // namespace kernelbayes::bark
