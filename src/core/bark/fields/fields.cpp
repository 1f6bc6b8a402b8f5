#include "fields.hpp"

#include <limits>
#include <stdexcept>

#include "largest.hpp"

namespace kernelbayes::bark {

Fields::Fields(const Data& data, const Prior& prior, const Classes& classes)
    : classes_(&classes) {
  if (!data.latent() || classes.count < 2 || n() != data.n()) {
    throw std::invalid_argument("every row needs a class");
  }
  for (const int label : classes.of_row) {
    if (label < 0 || label >= classes.count) {
      throw std::invalid_argument("no such class");
    }
  }
  fields_.assign(classes.count, State(data, prior));
}

Intervals Fields::intervals(int k) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Intervals out{Eigen::VectorXd::Constant(n(), -kInfinity),
                Eigen::VectorXd::Constant(n(), kInfinity)};
  for (int i = 0; i < n(); ++i) {
    if (label(i) != k) {
      out.upper[i] = latent(i, label(i)) - fields_[k].offset(i);
      continue;
    }
    for (int other = 0; other < size(); ++other) {
      if (other == k) continue;
      out.lower[i] = std::max(out.lower[i], latent(i, other));
    }
    out.lower[i] -= fields_[k].offset(i);
  }
  return out;
}

void Fields::set_amplitude(double amplitude) {
  for (State& field : fields_) field.set_amplitude(amplitude);
}

void Fields::set_responses(const Eigen::MatrixXd& z) {
  for (int k = 0; k < size(); ++k) fields_[k].set_response(z.col(k));
}

// Independent normals; the largest is that of the row's class.
void draw_latent(Fields& fields, Rng& rng) {
  Eigen::MatrixXd z(fields.n(), fields.size());
  for (int i = 0; i < fields.n(); ++i) {
    int largest = 0;
    for (int k = 0; k < fields.size(); ++k) {
      z(i, k) = rng.normal();
      if (z(i, k) > z(i, largest)) largest = k;
    }
    std::swap(z(i, largest), z(i, fields.label(i)));
  }
  fields.set_responses(z);
}

double class_log_likelihood(const Fields& fields, const Eigen::MatrixXd& f) {
  const std::vector<double> ones(fields.size(), 1.0);
  std::vector<double> row(fields.size());
  double sum = 0;
  for (int i = 0; i < fields.n(); ++i) {
    for (int k = 0; k < fields.size(); ++k)
      row[k] = f(i, k) + fields[k].offset(i);
    sum += log_largest(row, ones, fields.label(i));
  }
  return sum;
}

}  // namespace kernelbayes::bark
