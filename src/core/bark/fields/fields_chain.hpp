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

/// The chain of a multinomial probit model, with moves of each field and joint
/// moves. At rung 0 of a ladder each of C classes has probability 1 / C at each
/// row.
class FieldsChain {
 public:
  using Draws = FieldsDraws;
  static constexpr bool kRungs = true;

  FieldsChain(const Model& model, const Rung& rung);
  FieldsChain(const Data& data, const Prior& prior, const Classes& classes,
              const Rung& rung);

  void draw_start(Rng& rng);
  void draw_prior(Rng& rng);
  void sweep(const Turn& turn, const Rung& rung, Counts& counts, Rng& rng);
  void sweep(bool full, double power, bool adapt, Counts& counts, Rng& rng);
  void lowest(const Turn& turn, Rng& rng);
  void record(Draws& draws, Rng& rng) const;
  void transfer(Archive& archive);
  const Fields& state() const { return fields_; }
  Fields& state() { return fields_; }

 private:
  void latent(bool adapt, Counts& counts, Rng& rng);
  bool fix_terms(Rng& rng);

  const Model* model_ = nullptr;
  Fields fields_;
  std::vector<Sweep> sweeps_;
  std::vector<Steps::One> magnitude_;  // of each field, then of all
};

/// As of one State.
double tempered(const Fields& fields, const Rung& rung);
void enter(Fields& fields, const Rung& rung, Rng& rng);

}  // namespace kernelbayes::bark
