#include "fields_chain.hpp"

#include "fields.hpp"

namespace kernelbayes::bark {

void FieldsDraws::transfer(Archive& archive) {
  archive.list("fields", fields.size(), [this](Archive& field, auto k) {
    fields[k].transfer(field, model->prior);
    if (model->data.terms.any()) terms[k].transfer(field);
  });
  archive("log_likelihood", log_likelihood, Want::anything());
}

FieldsChain::FieldsChain(const Model& model, const Rung& rung)
    : FieldsChain(model.data, model.prior, model.classes, rung) {
  model_ = &model;
}

FieldsChain::FieldsChain(const Data& data, const Prior& prior,
                         const Classes& classes, const Rung& rung)
    : fields_(data, prior, classes),
      sweeps_(classes.count, Sweep(prior, data)),
      magnitude_(classes.count + 1, Steps().magnitude) {
  fields_.set_amplitude(rung.amplitude);
}

void FieldsChain::draw_start(Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) bark::draw_start(fields_[k], rng);
  draw_latent(fields_, rng);
}

void FieldsChain::draw_prior(Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) {
    bark::draw_prior(fields_[k], rng);
    draw_prior_terms(fields_[k], rng);
  }
}

double tempered(const Fields& fields, const Rung& rung) {
  double sum = 0;
  for (int k = 0; k < fields.size(); ++k) sum += tempered(fields[k], rung);
  return sum;
}

void enter(Fields& fields, const Rung& rung, Rng& rng) {
  for (int k = 0; k < fields.size(); ++k) enter(fields[k], rung, rng);
}

void FieldsChain::lowest(const Turn&, Rng& rng) {
  draw_prior(rng);
  draw_latent(fields_, rng);
}

void FieldsChain::sweep(const Turn& turn, const Rung& rung, Counts& counts,
                        Rng& rng) {
  // Now and then recovers the accuracy that updates lose.
  constexpr int kRefresh = 1000;
  if (!model_->full && turn.time % kRefresh == 0) {
    for (int k = 0; k < fields_.size(); ++k) fields_[k].refresh();
  }
  sweep(model_->full, rung.power, turn.adapts(), counts, rng);
}

void FieldsChain::sweep(bool full, double power, bool adapt, Counts& counts,
                        Rng& rng) {
  for (int k = 0; k < fields_.size(); ++k) {
    if (full) {
      sweeps_[k].full_kernels(fields_[k], power, adapt, counts, rng);
    } else {
      sweeps_[k].single_kernels(fields_[k], power, adapt, counts, rng);
    }
  }
  const bool any = fields_[0].data().terms.any();
  if (power != 1) {
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
bool FieldsChain::fix_terms(Rng& rng) {
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

void FieldsChain::latent(bool adapt, Counts& counts, Rng& rng) {
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
      counts.note(kMagnitude, moved, magnitude_[k], adapt);
    }
  }
  magnitudes.finish(fields_, rng);
}

void FieldsChain::record(Draws& draws, Rng& rng) const {
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

void FieldsChain::transfer(Archive& archive) {
  archive.list("fields", sweeps_.size(), [this](Archive& field, auto k) {
    fields_[static_cast<int>(k)].transfer(field, !model_->full);
    field.within("steps",
                 [this, k](Archive& list) { sweeps_[k].transfer(list); });
  });
  Steps::transfer(archive, "magnitude", magnitude_);
}

}  // namespace kernelbayes::bark
