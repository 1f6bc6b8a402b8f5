#include <kernelbayes/truncated_normal.hpp>
#include <limits>

#include "fields.hpp"

namespace kernelbayes::bark {

namespace {

double normal_above(double bound, double mean, double sd, Rng& rng) {
  return bound + sd * normal_excess((bound - mean) / sd, rng);
}

double normal_below(double bound, double mean, double sd, Rng& rng) {
  return bound - sd * normal_excess((mean - bound) / sd, rng);
}

// The latent responses of one field, each given the others. (B49), Holmes and
// Held (2006): with H = K Sig K' = U'U, z_i given the others has precision 1 -
// h_i and mean (f_i - h_i z_i) / (1 - h_i), f = U'q the fit to z; q = Uz
// follows in O(m). If that precision is only rounding, they are drawn given a
// draw of the coefficients instead: this depends on the kernels only.
class Responses {
 public:
  Responses(const State& state, Rng& rng)
      : state_(&state), z_(state.response()) {
    const State::Factor factor = state.factor();
    ok_ = factor.ok;
    if (!ok_ || state.size() == 0) return;
    u_ = factor.lower.triangularView<Eigen::Lower>().solve(
        state.columns().transpose());
    h_ = u_.colwise().squaredNorm().transpose();
    q_ = factor.z;
    constexpr double kLeastLeft = 1e-8;
    if (1 - h_.maxCoeff() >= kLeastLeft) return;
    fit_ = state.columns() * State::draw_coefficients(factor, rng);
    h_.resize(0);
  }

  bool ok() const { return ok_; }
  const Eigen::VectorXd& values() const { return z_; }
  double operator[](int i) const { return z_[i] + state_->offset(i); }
  double precision(int i) const { return h_.size() > 0 ? 1 - h_[i] : 1; }

  double mean(int i) const {
    double out = state_->offset(i);
    if (h_.size() > 0) {
      out += (u_.col(i).dot(q_) - h_[i] * z_[i]) / (1 - h_[i]);
    } else if (fit_.size() > 0) {
      out += fit_[i];
    }
    return out;
  }

  void set(int i, double value) {
    value -= state_->offset(i);
    if (h_.size() > 0) q_ += (value - z_[i]) * u_.col(i);
    z_[i] = value;
  }

 private:
  const State* state_;
  Eigen::VectorXd z_, h_, q_, fit_;  // z without the offset
  Eigen::MatrixXd u_;
  bool ok_ = true;
};

void draw_each(std::vector<Responses>& z, int i, int label, Rng& rng) {
  double top = -std::numeric_limits<double>::infinity();
  for (int k = 0; k < static_cast<int>(z.size()); ++k) {
    if (k == label) continue;
    const double sd = 1 / std::sqrt(z[k].precision(i));
    z[k].set(i, normal_below(z[label][i], z[k].mean(i), sd, rng));
    top = std::max(top, z[k][i]);
  }
  const double sd = 1 / std::sqrt(z[label].precision(i));
  z[label].set(i, normal_above(top, z[label].mean(i), sd, rng));
}

// z_ik += c for all k: c is normal, (B54).
void shift_all(std::vector<Responses>& z, int i, Rng& rng) {
  double precision = 0, score = 0;
  for (const Responses& one : z) {
    precision += one.precision(i);
    score += one.precision(i) * (one.mean(i) - one[i]);
  }
  const double shift = score / precision + rng.normal() / std::sqrt(precision);
  for (Responses& one : z) one.set(i, one[i] + shift);
}

}  // namespace

void latent_move(Fields& fields, Rng& rng) {
  std::vector<Responses> z;
  bool ok = true;
  for (int k = 0; k < fields.size(); ++k) {
    z.emplace_back(fields[k], rng);
    ok = ok && z.back().ok();
  }
  if (!ok) return;
  for (int i = 0; i < fields.n(); ++i) {
    draw_each(z, i, fields.label(i), rng);
    shift_all(z, i, rng);
  }
  for (int k = 0; k < fields.size(); ++k) {
    fields[k].set_response(z[k].values());
  }
}

// Joint moves of all latent responses, coefficients integrated out: those of
// field k have the density of N(0, A_k^-1), A_k^-1 = I + K V K'.

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
