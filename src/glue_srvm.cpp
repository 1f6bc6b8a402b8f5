#include <RcppEigen.h>

#include "core/srvm/moments.hpp"
#include "core/srvm/transfer.hpp"
#include "glue/archive.hpp"
#include "glue/lists.hpp"
#include "glue/srvm_from_r.hpp"

namespace {

using namespace kernelbayes;

std::vector<srvm::Particle> particles_from_r(const Rcpp::List& state,
                                             int fixed) {
  std::vector<srvm::Particle> out;
  read_state(state,
             [&](Archive& archive) { srvm::transfer(archive, out, fixed); });
  return out;
}

// Candidates are rows of `centres`.
void check_set(const std::vector<int>& set, const Eigen::MatrixXd& centres) {
  for (const int j : set) {
    require(j >= 0 && j < centres.rows(),
            "a centre is not among the candidates");
  }
}

// Of particles with kernels of their own.
void check_own(const srvm::Model& model, const Eigen::MatrixXd& bandwidths,
               const Eigen::MatrixXd& x, const Eigen::MatrixXd& centres,
               std::size_t particles) {
  srvm_r::check_columns(model, x.cols());
  require(model.learned && bandwidths.rows() == x.cols() &&
              centres.cols() == x.cols() &&
              bandwidths.cols() == static_cast<Eigen::Index>(particles),
          "bandwidths and points disagree");
}

// The kernel with these bandwidths between points and the centres of a set.
Eigen::MatrixXd own_values(const RadialKernel& kernel,
                           const Eigen::VectorXd& bandwidths,
                           const Eigen::MatrixXd& x,
                           const Eigen::MatrixXd& centres,
                           const std::vector<int>& set) {
  const Eigen::VectorXd squares = bandwidths.array().square().inverse();
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(x.rows());
  Eigen::MatrixXd out(x.rows(), set.size());
  for (std::size_t j = 0; j < set.size(); ++j) {
    const Eigen::VectorXd centre = centres.row(set[j]);
    kernel.evaluate(Arithmetic::best(), squares, x, centre, ones, out.col(j));
  }
  return out;
}

}  // namespace

// Posterior means and variances of f, n points x N particles, given the fixed
// columns there. `values` is n x U; `column[j]` (from 1) is its column for
// candidate j, or 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_moments_cpp(Rcpp::List state, const Eigen::MatrixXd& fixed,
                            double shift, const Eigen::MatrixXd& values,
                            std::vector<int> column) {
  const auto particles =
      particles_from_r(state, static_cast<int>(fixed.cols()));
  require(fixed.rows() == values.rows(), "fixed columns and values disagree");
  srvm::Model model;
  model.shift = shift;
  const double last = static_cast<double>(values.cols());
  column = counts_from_r(Rcpp::wrap(column), "columns", 0, last);
  for (int& c : column) --c;
  for (const auto& particle : particles) {
    for (const int j : particle.set) {
      require(j < static_cast<int>(column.size()) && column[j] >= 0,
              "a centre has no column");
    }
  }
  Eigen::MatrixXd mean(values.rows(), particles.size());
  Eigen::MatrixXd variance(values.rows(), particles.size());
  for (std::size_t i = 0; i < particles.size(); ++i) {
    srvm::posterior_moments(particles[i], model, fixed, values, column,
                            mean.col(i), variance.col(i));
  }
  return Rcpp::List::create(Rcpp::_["mean"] = mean,
                            Rcpp::_["variance"] = variance);
}

// The same where each particle has its own kernel, with the bandwidths in a
// column of `bandwidths`. `centres` are points of candidates. `averaged`:
// of the mean of f over the points.
// [[Rcpp::export(rng = false)]]
Rcpp::List srvm_own_moments_cpp(Rcpp::List config, Rcpp::List state,
                                const Eigen::MatrixXd& bandwidths,
                                const Eigen::MatrixXd& x,
                                const Eigen::MatrixXd& centres, bool averaged) {
  const srvm::Model model = srvm_r::model(config);
  const auto particles = srvm_r::particles(state, model);
  check_own(model, bandwidths, x, centres, particles.size());
  for (const auto& particle : particles) check_set(particle.set, centres);
  Eigen::MatrixXd fixed = model.fixed_columns.at(x);
  if (averaged) fixed = fixed.colwise().mean().eval();
  const Eigen::Index n = averaged ? 1 : x.rows();
  Eigen::MatrixXd mean(n, particles.size());
  Eigen::MatrixXd variance(n, particles.size());
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const std::vector<int>& set = particles[i].set;
    std::vector<int> column(centres.rows(), -1);
    for (std::size_t j = 0; j < set.size(); ++j) {
      column[set[j]] = static_cast<int>(j);
    }
    Eigen::MatrixXd values =
        own_values(*model.learned, bandwidths.col(i), x, centres, set);
    const std::vector<double>& spreads = particles[i].own.spreads();
    for (std::size_t j = 0; j < spreads.size(); ++j) {
      values.col(j) *= std::sqrt(spreads[j]);
    }
    if (averaged) values = values.colwise().mean().eval();
    srvm::posterior_moments(particles[i], model, fixed, values, column,
                            mean.col(i), variance.col(i));
  }
  return Rcpp::List::create(Rcpp::_["mean"] = mean,
                            Rcpp::_["variance"] = variance);
}

// Values of f, n points x draws, given coefficients, those of fixed columns
// first.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd srvm_own_draws_cpp(Rcpp::List config, const std::vector<int>& k,
                                   const std::vector<int>& sets,
                                   const std::vector<double>& beta,
                                   const Eigen::MatrixXd& bandwidths,
                                   const Eigen::MatrixXd& x,
                                   const Eigen::MatrixXd& centres) {
  const srvm::Model model = srvm_r::model(config);
  check_own(model, bandwidths, x, centres, k.size());
  const Eigen::MatrixXd fixed = model.fixed_columns.at(x);
  const auto last = static_cast<double>(sets.size());
  double total = 0;
  for (const int each : counts_from_r(Rcpp::wrap(k), "k", 0, last))
    total += each;
  require(total == last && static_cast<double>(beta.size()) ==
                               total + double(k.size()) * model.fixed(),
          "the draws are incomplete");
  Eigen::MatrixXd out(x.rows(), k.size());
  auto set = sets.begin();
  const double* coefficient = beta.data();
  for (std::size_t i = 0; i < k.size(); ++i) {
    const Eigen::Map<const Eigen::VectorXd> always(coefficient, model.fixed());
    out.col(i) = fixed * always;
    coefficient += model.fixed();
    if (k[i] == 0) continue;
    std::vector<int> own_set(set, set + k[i]);
    for (int& c : own_set) --c;
    check_set(own_set, centres);
    const Eigen::Map<const Eigen::VectorXd> own(coefficient, k[i]);
    out.col(i) +=
        own_values(*model.learned, bandwidths.col(i), x, centres, own_set) *
        own;
    set += k[i];
    coefficient += k[i];
  }
  return out;
}

// Mean coefficients of each particle, concatenated in the order of `sets`,
// those of fixed columns first.
// [[Rcpp::export(rng = false)]]
std::vector<double> srvm_coefficients_cpp(Rcpp::List state, int fixed,
                                          bool intercept, double shift) {
  require(fixed >= intercept, "there is no column of the intercept");
  std::vector<double> out;
  for (const auto& particle : particles_from_r(state, fixed)) {
    std::vector<double> mean = particle.factor.z();
    particle.factor.solve_upper(mean.data());
    if (intercept) mean[0] += shift;
    out.insert(out.end(), mean.begin(), mean.end());
  }
  return out;
}

// What f loses without each centre, in the order of `sets`: (S67).
// [[Rcpp::export(rng = false)]]
std::vector<double> srvm_changes_cpp(Rcpp::List state, int fixed, bool scaled) {
  std::vector<double> out;
  for (const auto& particle : particles_from_r(state, fixed)) {
    const Eigen::VectorXd change = srvm::centre_changes(particle, scaled);
    out.insert(out.end(), change.begin(), change.end());
  }
  return out;
}
