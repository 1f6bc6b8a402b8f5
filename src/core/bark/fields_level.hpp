#pragma once

#include "level.hpp"

namespace kernelbayes {
namespace bark {

/// Of each class those of its field, and the log likelihood of all classes
/// given the coefficients.
struct FieldsDraws {
  explicit FieldsDraws(const Model& model)
      : model(&model), fields(model.classes.count) {}
  void transfer(Archive& archive);

  const Model* model;
  std::vector<KernelDraws> fields;
  std::vector<double> log_likelihood;
};

/// The fields of a multinomial probit model at a rung, with the moves of each
/// and those of all together; as Level is of other families. At the rung 0 of a
/// ladder each of C classes has the probability 1 / C at each row.
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

  /// Kernels, scales and responses where chains start; from the prior.
  void draw_start(Rng& rng);
  void draw_prior(Rng& rng);
  /// log of the likelihood of the fields at a rung, to the rung's power.
  double tempered(const Rung& rung) const;

  const Rung& rung() const { return rung_; }
  const Fields& fields() const { return fields_; }
  Fields& fields() { return fields_; }

 private:
  void latent(bool adapt, Counts& counts, Rng& rng);

  const Model* model_ = nullptr;
  int index_ = 0;
  Rung rung_;
  Fields fields_;
  std::vector<Sweep> sweeps_;
  std::vector<Steps::One> magnitude_;  // of each field, then of all
};

/// Exchanges the fields of two levels if that is accepted: (B61).
bool exchange(FieldsLevel& one, FieldsLevel& other, Rng& rng);

}  // namespace bark
}  // namespace kernelbayes
