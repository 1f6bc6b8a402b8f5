#include "fields_level.hpp"

#include <stdexcept>

#include "fields_magnitude.hpp"

namespace kernelbayes {
namespace bark {

FieldsLevel::FieldsLevel(const Data& data, const Prior& prior,
                         const Classes& classes, const Rung& rung)
    : rung_(rung),
      fields_(data, prior, classes),
      sweeps_(classes.count, Sweep(prior, data)),
      magnitude_(classes.count + 1, Steps().magnitude) {
  fields_.set_amplitude(rung_.amplitude);
}

void FieldsLevel::draw_start(Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) bark::draw_start(fields_[k], rng);
  draw_latent(fields_, rng);
}

void FieldsLevel::draw_prior(Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) bark::draw_prior(fields_[k], rng);
}

double FieldsLevel::tempered(const Rung& rung) const {
  double sum = 0;
  for (int k = 0; k < fields_.size(); ++k) {
    sum += bark::tempered(fields_[k], rung);
  }
  return sum;
}

void FieldsLevel::sweep(bool full, bool adapt, Counts& counts, Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) {
    if (full) {
      sweeps_[k].full_kernels(fields_[k], rung_.power, adapt, counts, rng);
    } else {
      sweeps_[k].single_kernels(fields_[k], rung_.power, adapt, counts, rng);
    }
  }
  if (rung_.power == 1) latent(adapt, counts, rng);
}

void FieldsLevel::latent(bool adapt, Counts& counts, Rng& rng) {
  latent_move(fields_, rng);
  latent_scale_move(fields_, rng);
  latent_shift_move(fields_, rng);
  Magnitudes magnitudes(fields_, rng);
  if (!magnitudes.ok()) return;
  constexpr int kTimes = 2;  // they cost little once there are coefficients
  for (int i = 0; i < kTimes; ++i) {
    for (int k = 0; k <= fields_.size(); ++k) {
      const int which = k < fields_.size() ? k : -1;
      const bool moved = magnitudes.move(which, magnitude_[k].length(), rng);
      counts.note(kMagnitude, moved);
      if (adapt) magnitude_[k].adapt(moved);
    }
  }
  magnitudes.finish(fields_, rng);
}

FieldsLevel::Saved FieldsLevel::save(bool updates) const {
  Saved out;
  out.states = fields_.save(updates);
  for (const Sweep& sweep : sweeps_) out.steps.push_back(sweep.steps());
  out.steps.emplace_back();
  for (std::size_t k = 0; k < magnitude_.size(); ++k) {
    out.steps[k].magnitude = magnitude_[k];
  }
  return out;
}

void FieldsLevel::restore(Saved saved) {
  if (saved.steps.size() != magnitude_.size()) {
    throw std::invalid_argument("the state does not belong to these classes");
  }
  fields_.restore(std::move(saved.states));
  for (std::size_t k = 0; k < magnitude_.size(); ++k) {
    magnitude_[k] = saved.steps[k].magnitude;
    if (k < sweeps_.size()) sweeps_[k].set_steps(std::move(saved.steps[k]));
  }
}

bool exchange(FieldsLevel& one, FieldsLevel& other, Rng& rng) {
  const double log_ratio =
      one.tempered(other.rung()) + other.tempered(one.rung()) -
      one.tempered(one.rung()) - other.tempered(other.rung());
  if (!accept(log_ratio, rng)) return false;
  std::swap(one.fields(), other.fields());
  if (one.rung().amplitude != other.rung().amplitude) {
    one.fields().set_amplitude(one.rung().amplitude);
    other.fields().set_amplitude(other.rung().amplitude);
  }
  return true;
}

}  // namespace bark
}  // namespace kernelbayes
