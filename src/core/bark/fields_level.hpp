#pragma once

#include "fields.hpp"
#include "sweep.hpp"

namespace kernelbayes {
namespace bark {

/// The fields at a rung, with the moves of each and those of all together.
class FieldsLevel {
 public:
  FieldsLevel(const Data& data, const Prior& prior, const Classes& classes,
              const Rung& rung);

  void sweep(bool full, bool adapt, Counts& counts, Rng& rng);
  /// Kernels, scales and responses where chains start; from the prior.
  void draw_start(Rng& rng);
  void draw_prior(Rng& rng);
  /// log of the likelihood of the fields at a rung, to the rung's power.
  double tempered(const Rung& rung) const;

  const Rung& rung() const { return rung_; }
  const Fields& fields() const { return fields_; }
  Fields& fields() { return fields_; }

  /// Steps of each field; the last are of all together.
  struct Saved {
    std::vector<State::Saved> states;
    std::vector<Steps> steps;
  };
  Saved save(bool updates) const;
  void restore(Saved saved);

 private:
  void latent(bool adapt, Counts& counts, Rng& rng);

  Rung rung_;
  Fields fields_;
  std::vector<Sweep> sweeps_;
  std::vector<Steps::One> magnitude_;  // of each field, then of all
};

/// Exchanges the fields of two levels if that is accepted: (B61).
bool exchange(FieldsLevel& one, FieldsLevel& other, Rng& rng);

}  // namespace bark
}  // namespace kernelbayes
