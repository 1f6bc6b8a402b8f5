#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "fields.hpp"

namespace kernelbayes {
namespace bark {

namespace {

// log of the probability that no other response exceeds that of the row's
// class, whose values are `top`.
double log_below(const Fields& fields, const Eigen::MatrixXd& f,
                 const Eigen::VectorXd& top) {
  double sum = 0;
  for (int k = 0; k < fields.size(); ++k) {
    for (int i = 0; i < fields.n(); ++i) {
      if (k != fields.label(i)) sum += log_normal_cdf(top[i] - f(i, k));
    }
  }
  return sum;
}

void draw_below(Fields& fields, const Eigen::MatrixXd& f,
                const Eigen::VectorXd& top, Rng& rng) {
  Eigen::MatrixXd z(fields.n(), fields.size());
  for (int k = 0; k < fields.size(); ++k) {
    for (int i = 0; i < fields.n(); ++i) {
      z(i, k) = top[i];
      if (k != fields.label(i)) z(i, k) -= normal_excess(f(i, k) - top[i], rng);
    }
  }
  fields.set_responses(z);
}

struct Varphi {
  double count = 0, sum = 0;
  void add(const State& state) {
    for (int j = 0; j < state.size(); ++j) {
      for (const double varphi : state.slot(j).varphi) {
        ++count;
        sum += varphi;
      }
    }
  }
};

}  // namespace

// As for two classes, latent responses are left out for a while, but that the
// noise of the row's own class is kept: given it the probability that the
// others stay below is a product. The density of coefficients given varphi and
// the Jacobian of both cancel.
bool magnitude_move(Fields& fields, int which, double step, Rng& rng) {
  Eigen::MatrixXd f = Eigen::MatrixXd::Zero(fields.n(), fields.size());
  for (int k = 0; k < fields.size(); ++k) {
    if (fields[k].size() == 0) continue;
    const State::Factor factor = fields[k].factor();
    if (!factor.ok) return false;
    f.col(k) = fields[k].columns() * State::draw_coefficients(factor, rng);
  }
  const auto moves = [which](int k) { return which < 0 || which == k; };
  Varphi varphi;
  for (int k = 0; k < fields.size(); ++k) {
    if (moves(k)) varphi.add(fields[k]);
  }
  if (varphi.count == 0) return false;
  const double move = step * rng.normal(), factor = std::exp(move);
  Eigen::MatrixXd to = f;
  for (int k = 0; k < fields.size(); ++k) {
    if (moves(k)) to.col(k) *= factor;
  }
  Eigen::VectorXd top(fields.n()), top_to(fields.n());
  for (int i = 0; i < fields.n(); ++i) {
    const int label = fields.label(i);
    top[i] = fields[label].response()[i];
    top_to[i] = top[i] + (to(i, label) - f(i, label));
  }
  const Prior& prior = fields[0].prior();
  const double log_ratio =
      log_below(fields, to, top_to) - log_below(fields, f, top) -
      prior.alpha * varphi.count * move -
      prior.varphi_rate() * varphi.sum * std::expm1(-2 * move);
  if (!accept(log_ratio, rng)) return false;
  for (int k = 0; k < fields.size(); ++k) {
    if (moves(k)) fields[k].scale_varphi(1 / (factor * factor));
  }
  draw_below(fields, to, top_to, rng);
  return true;
}

}  // namespace bark
}  // namespace kernelbayes
