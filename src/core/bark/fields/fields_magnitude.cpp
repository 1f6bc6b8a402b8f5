#include "core/bark/moves/moves.hpp"
#include "fields.hpp"

#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

namespace kernelbayes::bark {

Magnitudes::Magnitudes(const Fields& fields, Rng& rng)
    : fields_(&fields),
      prior_(&fields[0].prior()),
      f_(Eigen::MatrixXd::Zero(fields.n(), fields.size())),
      noise_(fields.n()),
      varphi_(fields.size()) {
  for (int k = 0; k < fields.size() && ok_; ++k) {
    if (fields[k].size() == 0) continue;
    const State::Factor factor = fields[k].factor();
    ok_ = factor.ok;
    if (!ok_) return;
    f_.col(k) = fields[k].columns() * State::draw_coefficients(factor, rng);
    for (int j = 0; j < fields[k].size(); ++j) {
      for (const double varphi : fields[k].slot(j).varphi) {
        ++varphi_[k].count;
        varphi_[k].sum += varphi;
      }
    }
  }
  for (int i = 0; i < fields.n(); ++i) {
    const int label = fields.label(i);
    noise_[i] = fields[label].response()[i] - f_(i, label);
  }
  log_below_ = log_below(f_);
}

// log of the probability that no other response exceeds that of the class.
double Magnitudes::log_below(const Eigen::MatrixXd& f) const {
  double sum = 0;
  for (int i = 0; i < fields_->n(); ++i) {
    const int label = fields_->label(i);
    const double top = eta(f, i, label) + noise_[i];
    for (int k = 0; k < fields_->size(); ++k) {
      if (k != label) sum += log_normal_cdf(top - eta(f, i, k));
    }
  }
  return sum;
}

// (B57): the density of coefficients given varphi and the Jacobian of both
// cancel.
bool Magnitudes::move(int which, double step, Rng& rng) {
  const double move = step * rng.normal();
  const int first = which < 0 ? 0 : which;
  const int count = which < 0 ? fields_->size() : 1;
  double copies = 0, log_prior = 0;
  for (int k = first; k < first + count; ++k) {
    copies += varphi_[k].count;
    log_prior -= prior_->alpha * varphi_[k].count * move +
                 prior_->varphi_rate() * varphi_[k].sum * std::expm1(-2 * move);
  }
  if (copies == 0) return false;
  Eigen::MatrixXd to = f_;
  to.middleCols(first, count) *= std::exp(move);
  const double log_below_to = log_below(to);
  if (!accept(log_below_to - log_below_ + log_prior, rng)) return false;
  f_.swap(to);
  log_below_ = log_below_to;
  for (int k = first; k < first + count; ++k) {
    varphi_[k].log_factor -= 2 * move;
    varphi_[k].sum *= std::exp(-2 * move);
  }
  return true;
}

void Magnitudes::finish(Fields& fields, Rng& rng) const {
  Eigen::MatrixXd z = f_;
  for (int i = 0; i < fields.n(); ++i) {
    const int label = fields.label(i);
    const double top = eta(f_, i, label) + noise_[i];
    for (int k = 0; k < fields.size(); ++k) {
      z(i, k) = top - fields[k].offset(i);
      if (k != label) z(i, k) -= normal_excess(eta(f_, i, k) - top, rng);
    }
  }
  for (int k = 0; k < fields.size(); ++k) {
    if (varphi_[k].log_factor == 0) continue;
    fields[k].scale_varphi(std::exp(varphi_[k].log_factor));
  }
  fields.set_responses(z);
}

}  // namespace kernelbayes::bark
