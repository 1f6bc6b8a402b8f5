// Joint moves of all latent responses, coefficients integrated out: those of
// field k have the density of N(0, A_k^-1), A_k^-1 = I + K V K'.
#include "fields.hpp"

namespace kernelbayes::bark {

namespace {

// Values at the rows as a fit and its residual, (B56). d'A e is the least value
// of |d - K b|^2 + b'V^-1 b in its bilinear form: nothing cancels.
struct Projection {
  Eigen::VectorXd residual, coefficients;  // b / sqrt(v)

  Projection(const State& state, const Eigen::VectorXd& d, Eigen::VectorXd b)
      : residual(d - state.columns() * b), coefficients(std::move(b)) {
    for (int j = 0; j < state.size(); ++j) {
      coefficients[j] /= std::sqrt(state.variance(j));
    }
  }

  double dot(const Projection& other) const {
    return residual.dot(other.residual) + coefficients.dot(other.coefficients);
  }
};

Projection project_response(const State& state) {
  return {state, state.response(), state.mean()};
}

Projection project(const State& state, const Eigen::VectorXd& d) {
  return {state, d, state.covariance() * (state.columns().transpose() * d)};
}

// A constant, or a kernel of any field: the choice does not depend on
// responses.
Eigen::VectorXd choose_direction(const Fields& fields, Rng& rng) {
  const State& field = fields[static_cast<int>(rng.index(fields.size()))];
  if (field.size() == 0 || rng.uniform() < 0.5) {
    return Eigen::VectorXd::Ones(fields.n());
  }
  return field.columns().col(rng.index(field.size()));
}

}  // namespace

// z *= g: g^2 ~ Ga(n C / 2, Q / 2), Q the sum of z_k'A_k z_k (Liu and Sabatti,
// 2000). (B55).
void latent_scale_move(Fields& fields, Rng& rng) {
  if (fields[0].data().terms.any()) return;  // they do not change with z
  double q = 0;
  for (int k = 0; k < fields.size(); ++k) {
    const Projection z = project_response(fields[k]);
    q += z.dot(z);
  }
  const double shape = 0.5 * fields.n() * fields.size();
  const double g = std::sqrt(rng.gamma(shape) / (0.5 * q));
  for (int k = 0; k < fields.size(); ++k) {
    fields[k].set_response(g * fields[k].response());
  }
}

// z_k += a d for all k: a is normal with the precision sum d'A_k d, (B55).
void latent_shift_move(Fields& fields, Rng& rng) {
  const Eigen::VectorXd d = choose_direction(fields, rng);
  double precision = 0, score = 0;
  for (int k = 0; k < fields.size(); ++k) {
    const Projection along = project(fields[k], d);
    precision += along.dot(along);
    score -= along.dot(project_response(fields[k]));
  }
  const double a = score / precision + rng.normal() / std::sqrt(precision);
  for (int k = 0; k < fields.size(); ++k) {
    fields[k].set_response(fields[k].response() + a * d);
  }
}

}  // namespace kernelbayes::bark
