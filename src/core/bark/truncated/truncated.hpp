#pragma once

#include "core/bark/state/state.hpp"

namespace kernelbayes::bark {

/// A kernel whose coefficient is part of the state.
struct Kernel {
  int location = 0;  // as in Slot
  double beta = 0;
};

/// A state of the truncation approximation of the Levy field, whose
/// coefficients are not integrated out: J ~ Po(nu) kernels at uniform
/// locations, several of which may be the same, and |beta| > eps with the
/// two-sided Pareto density alpha eps^alpha |beta|^(-1 - alpha) / 2, (B65). The
/// likelihood is that of the complete state, y ~ N(a K beta, 1 / (phi w)),
/// where a^2 is the amplitude: as in State, the rungs of tempered probit models
/// differ in it, and the response of such a model is latent. Rows of K and y
/// are stored multiplied by sqrt(w), and the residual is kept up to date: O(n)
/// per kernel.
class TruncatedState {
 public:
  TruncatedState(const Data& data, const Prior& prior);

  const Data& data() const { return *data_; }
  const Prior& prior() const { return *prior_; }
  int size() const { return static_cast<int>(kernels_.size()); }
  const Kernel& kernel(int j) const { return kernels_[j]; }
  double noise() const { return phi_; }  // precision
  double amplitude() const { return root_amplitude_ * root_amplitude_; }
  const std::vector<double>& log_lambda() const {
    return columns_.log_lambda();
  }
  const std::vector<char>& included() const { return columns_.included(); }
  int n_included() const { return columns_.n_included(); }
  double total_scale() const { return columns_.total_scale(); }

  /// sqrt(w) times K, the response, and the residual.
  Eigen::Ref<const Eigen::MatrixXd> columns() const {
    return columns_.values().leftCols(size());
  }
  /// The columns that proposed scales would give.
  Eigen::Ref<const Eigen::MatrixXd> proposed_columns() const {
    return columns_.proposed_values().leftCols(size());
  }
  const Eigen::VectorXd& response() const { return response_.values(); }
  const Eigen::VectorXd& residual() const { return residual_; }
  double squares() const { return squares_; }  // of the residual
  Eigen::VectorXd coefficients() const;
  Eigen::VectorXd exponents(int j) const { return columns_.exponents().col(j); }

  /// log N(y; a K beta, 1 / (phi w)), y the response of this state.
  double log_likelihood() const;

  // Kernels: O(n) each -------------------------------------------------------
  /// A column that may come.
  struct Place {
    int location;
    Eigen::VectorXd exponents, values;
    double own;  // k'Wk
  };
  Place make_place(int location) const;
  /// The information of the data on a coefficient given all others: (B66).
  Information information(int j) const;

  /// add() appends; remove() moves the last kernel to the place of j.
  void set_coefficient(int j, double beta);
  void set_coefficients(const Eigen::VectorXd& beta);
  void add(const Place& place, double beta);
  void remove(int j);

  // As of a State ------------------------------------------------------------
  double propose_scales(const ScaleChange& change);
  /// With other coefficients too.
  double propose_coefficients(const Eigen::VectorXd& beta);
  void accept_proposal();
  void set_noise(double phi) { phi_ = phi; }
  void set_response(Eigen::VectorXd response);
  void set_amplitude(double amplitude);
  void assign(std::vector<Kernel> kernels, std::vector<double> log_lambda,
              std::vector<char> included, double phi);
  /// Recomputes columns and residual.
  void refresh();

  /// A refresh discards accumulated updates: resumed runs must start with one.
  void transfer(Archive& archive);

 private:
  void reserve(int kernels);
  std::vector<bark::Place> places() const;
  void recompute_residual();
  double log_density(double squares) const;

  const Data* data_;
  const Prior* prior_;
  Response response_;
  KernelColumns columns_;
  Eigen::VectorXd residual_;
  double squares_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<double> own_;
  double phi_ = 1, root_amplitude_ = 1;

  struct Proposal {
    Eigen::VectorXd beta, residual;
    double squares = 0;
  } next_;
};

}  // namespace kernelbayes::bark
