// Several classes with a logit link.
#include "glm_fields.hpp"

#include <cmath>

#include "core/archive.hpp"
#include "glm_chain.hpp"
#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

class FieldLikelihood : public GlmLikelihood {
 public:
  FieldLikelihood(const Data& data, const Classes& classes, int k)
      : GlmLikelihood(data), arithmetic_(*data.arithmetic), own_(data.n()) {
    set_classes(classes.of_row, k);
    set_others(Eigen::VectorXd::Zero(data.n()));
  }

  void set_classes(const std::vector<int>& of_row, int k) {
    for (Eigen::Index i = 0; i < own_.size(); ++i) own_[i] = of_row[i] == k;
  }
  /// log of the sum of exp(f) over the other classes.
  void set_others(const Eigen::VectorXd& log_sum) { others_ = log_sum; }

  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      out[i] = rng.uniform() < 1 / (1 + std::exp(others_[i] - f[i]));
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    const Eigen::ArrayXd t = f.array() - others_;
    const Logistic at(arithmetic_, t);
    return {own_ * t - at.log_sum, own_ - at.p, at.variance};
  }

 private:
  const Arithmetic& arithmetic_;
  Eigen::ArrayXd own_, others_;
};

GlmFields::GlmFields(const Data& data, const Prior& prior,
                     const Classes& classes)
    : data_(&data), classes_(classes) {
  fields_.reserve(classes.count);
  for (int k = 0; k < classes.count; ++k) {
    auto likelihood = std::make_unique<FieldLikelihood>(data, classes_, k);
    likelihoods_.push_back(likelihood.get());
    fields_.emplace_back(data, prior, std::move(likelihood));
  }
}

Eigen::VectorXd GlmFields::log_sum(int but) const {
  const int n = data_->n();
  Eigen::ArrayXd top = Eigen::ArrayXd::Constant(n, -INFINITY);
  for (int k = 0; k < size(); ++k) {
    if (k != but) top = top.max(fields_[k].fit().array());
  }
  Eigen::ArrayXd sum = Eigen::ArrayXd::Zero(n);
  for (int k = 0; k < size(); ++k) {
    if (k == but) continue;
    sum += exp_minus(*data_->arithmetic, top - fields_[k].fit().array());
  }
  return (top + sum.log()).matrix();
}

double GlmFields::log_likelihood() const {
  const Eigen::VectorXd all = log_sum(-1);
  double out = 0;
  for (int i = 0; i < data_->n(); ++i) {
    out += data_->weights[i] * (fields_[classes_.of_row[i]].fit()[i] - all[i]);
  }
  return out;
}

void GlmFields::sweep(int k, int rounds, Counts& counts, Rng& rng) {
  likelihoods_[k]->set_others(log_sum(k));
  glm_sweep(fields_[k], rounds, counts, rng);
}

void GlmFields::sweep(int rounds, Counts& counts, Rng& rng) {
  for (int k = 0; k < size(); ++k) sweep(k, rounds, counts, rng);
  shift_linear(rng);
}

// (B138); all prior means are 0.
void GlmFields::shift_linear(Rng& rng) {
  const Eigen::Index q = data_->terms.linear.cols();
  Eigen::ArrayXd precision = Eigen::ArrayXd::Zero(q);
  Eigen::ArrayXd score = Eigen::ArrayXd::Zero(q);
  for (const GlmState& field : fields_) {
    const Eigen::ArrayXd own = field.linear_sd().array().square().inverse();
    precision += own;
    score -= own * field.terms().gamma.array();
  }
  Eigen::VectorXd shift = score / precision;
  for (Eigen::Index l = 0; l < q; ++l) {
    shift[l] += rng.normal() / std::sqrt(precision[l]);
  }
  for (GlmState& field : fields_) field.shift_linear(shift);
}

void GlmFields::draw_prior(Rng& rng) {
  for (GlmState& field : fields_) field.draw_prior(rng);
}

Eigen::MatrixXd GlmFields::probabilities() const {
  const Eigen::VectorXd all = log_sum(-1);
  Eigen::MatrixXd out(data_->n(), size());
  for (int k = 0; k < size(); ++k) {
    out.col(k) = (fields_[k].fit() - all).array().exp();
  }
  return out;
}

void GlmFields::set_classes(const std::vector<int>& of_row) {
  classes_.of_row = of_row;
  for (int k = 0; k < size(); ++k) likelihoods_[k]->set_classes(of_row, k);
}

void GlmFields::transfer(Archive& archive) {
  archive.list("fields", fields_.size(),
               [this](Archive& field, auto k) { fields_[k].transfer(field); });
}

void GlmFieldsChain::sweep(const Turn&, const Rung&, Counts& counts, Rng& rng) {
  if (model_->prior_only) return fields_.draw_prior(rng);
  fields_.sweep(kernel_rounds(model_->prior), counts, rng);
}

void GlmFieldsChain::record(Draws& draws, Rng&) const {
  for (int k = 0; k < fields_.size(); ++k) {
    draws.fields[k].record(fields_[k]);
    draws.terms[k].add(model_->data.terms, fields_[k].terms(),
                       fields_[k].kernel_mean());
  }
  draws.log_likelihood.push_back(fields_.log_likelihood());
}

}  // namespace kernelbayes::bark
