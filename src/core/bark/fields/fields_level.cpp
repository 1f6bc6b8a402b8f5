#include "fields_level.hpp"

#include "fields_magnitude.hpp"

namespace kernelbayes::bark {

void FieldsDraws::transfer(Archive& archive) {
  archive.list("fields", fields.size(), [this](Archive& field, auto k) {
    fields[k].transfer(field, model->prior);
    if (model->data.terms.any()) terms[k].transfer(field);
  });
  archive("log_likelihood", log_likelihood, Want::anything());
}

FieldsLevel::FieldsLevel(const Model& model, int index, Rng& rng)
    : FieldsLevel(model.data, model.prior, model.classes, model.rungs[index]) {
  model_ = &model;
  index_ = index;
  if (model.prior_only) {
    draw_prior(rng);
  } else {
    draw_start(rng);
  }
}

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
  for (int k = 0; k < fields_.size(); ++k) {
    bark::draw_prior(fields_[k], rng);
    draw_prior_terms(fields_[k], rng);
  }
}

double FieldsLevel::tempered(const Rung& rung) const {
  double sum = 0;
  for (int k = 0; k < fields_.size(); ++k) {
    sum += bark::tempered(fields_[k], rung);
  }
  return sum;
}

void FieldsLevel::sweep(const Turn& turn, Counts& counts, Rng& rng) {
  // Now and then recovers the accuracy that updates lose.
  constexpr int kRefresh = 1000;
  if (model_->ladder && index_ == 0) {
    draw_prior(rng);
    draw_latent(fields_, rng);
    return;
  }
  if (!model_->full && turn.time % kRefresh == 0) {
    for (int k = 0; k < fields_.size(); ++k) fields_[k].refresh();
  }
  sweep(model_->full, turn.adapts(), counts, rng);
}

void FieldsLevel::sweep(bool full, bool adapt, Counts& counts, Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) {
    if (full) {
      sweeps_[k].full_kernels(fields_[k], rung_.power, adapt, counts, rng);
    } else {
      sweeps_[k].single_kernels(fields_[k], rung_.power, adapt, counts, rng);
    }
  }
  const bool any = fields_[0].data().terms.any();
  if (rung_.power != 1) {
    for (int k = 0; k < fields_.size(); ++k) draw_prior_terms(fields_[k], rng);
    return;
  }
  if (any && !fix_terms(rng)) return;
  latent(adapt, counts, rng);
  for (int k = 0; full && k < fields_.size(); ++k) {
    sweeps_[k].open(fields_[k], fields_.intervals(k), adapt, counts, rng);
  }
  for (int k = 0; any && k < fields_.size(); ++k) {
    release_terms(fields_[k], rng);
  }
}

// If the terms of one field cannot be drawn, which depends on its kernels only,
// those of all fields stay integrated out.
bool FieldsLevel::fix_terms(Rng& rng) {
  std::vector<TermValues> drawn;
  for (int k = 0; k < fields_.size(); ++k) {
    Eigen::VectorXd fit;
    if (!draw_fit(fields_[k], fit, rng)) return false;
    Eigen::VectorXd residuals = fields_[k].response_model().residuals(fit);
    drawn.push_back(draw_terms(fields_[k], residuals, rng));
  }
  for (int k = 0; k < fields_.size(); ++k) {
    fields_[k].fix_terms(std::move(drawn[k]));
  }
  return true;
}

void FieldsLevel::latent(bool adapt, Counts& counts, Rng& rng) {
  latent_move(fields_, rng);
  latent_scale_move(fields_, rng);
  latent_shift_move(fields_, rng);
  Magnitudes magnitudes(fields_, rng);
  if (!magnitudes.ok()) return;
  constexpr int kTimes = 2;  // cheap, given the coefficients
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

void FieldsLevel::record(Draws& draws, Rng& rng) const {
  Eigen::MatrixXd f(fields_.n(), fields_.size());
  for (int k = 0; k < fields_.size(); ++k) {
    const Eigen::VectorXd beta =
        draws.fields[k].record(fields_[k], model_->prior_only, rng);
    if (fields_[k].data().terms.any()) {
      const Eigen::VectorXd residuals =
          draws.terms[k].record(fields_[k], beta, model_->prior_only, rng);
      f.col(k) = fields_[k].response_model().explained(residuals);
    } else {
      f.col(k) = fields_[k].columns() * beta;
    }
  }
  draws.log_likelihood.push_back(class_log_likelihood(fields_, f));
}

double FieldsLevel::observe() const {
  return tempered(model_->rungs[index_ + 1]) - tempered(rung_);
}

void FieldsLevel::transfer(Archive& archive) {
  archive.list("fields", sweeps_.size(), [this](Archive& field, auto k) {
    fields_[static_cast<int>(k)].transfer(field, !model_->full);
    field.within("steps",
                 [this, k](Archive& list) { sweeps_[k].transfer(list); });
  });
  Steps::transfer(archive, "magnitude", magnitude_);
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

}  // namespace kernelbayes::bark
