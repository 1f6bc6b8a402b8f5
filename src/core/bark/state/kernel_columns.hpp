#pragma once

#include "places.hpp"
#include "response.hpp"

namespace kernelbayes::bark {

/// A change of scales: all logarithms shift by `shift`, then some are replaced.
/// Unchanged ones need not be recomputed.
struct ScaleChange {
  struct One {
    int predictor;
    double log_lambda;
    char included;
  };
  double shift = 0;
  std::vector<One> ones;
};

/// The columns exp(-sum_l lambda_l (x_il - c_l)^2) of kernels at places, rows
/// multiplied by sqrt(w), with the shared scales and, if the prior has
/// directions, those: the input of kernels is then z = x U, the columns of U
/// unit vectors, instead of x, and there is a scale for each column of z. Other
/// scales, or another direction, are proposed and then accepted or dropped.
class KernelColumns {
 public:
  KernelColumns(const Data& data, const Prior& prior);

  /// log lambda_l of included predictors, and their number.
  const std::vector<double>& log_lambda() const { return log_lambda_; }
  const std::vector<char>& included() const { return included_; }
  int n_included() const { return n_included_; }
  double total_scale() const;
  void include(std::vector<double> log_lambda, std::vector<char> included);

  /// U, p x d; empty if the input of kernels is x itself.
  const Eigen::MatrixXd& directions() const { return directions_; }
  /// The input of kernels: x or x U.
  const Eigen::MatrixXd& inputs() const {
    return directions_.size() > 0 ? projected_ : data_->x;
  }
  /// Sets U only: columns that depend on it must then be recomputed.
  void set_directions(const Eigen::MatrixXd& directions);
  void set_direction(int l, const Eigen::VectorXd& direction);

  /// Input l at the centre of a kernel.
  double centre_of(const Place& place, int l) const;

  /// All columns in memory, those in use first.
  const Eigen::MatrixXd& exponents() const { return exponents_; }
  const Eigen::MatrixXd& values() const { return values_; }
  int capacity() const { return static_cast<int>(values_.cols()); }
  void reserve(int columns);
  /// A column that may be added.
  void fill(const Place& place, const Response& response,
            Eigen::Ref<Eigen::VectorXd> exponents,
            Eigen::Ref<Eigen::VectorXd> values) const;
  /// The same from the exponents of column j, of the kernel `from`, if it has
  /// the same centre and few other scales.
  void fill_changed(int j, const Place& from, const Place& to,
                    const Response& response,
                    Eigen::Ref<Eigen::VectorXd> exponents,
                    Eigen::Ref<Eigen::VectorXd> values) const;
  /// Of all rows, or of `out.size()` rows from `first` on.
  void fill_exponents(const Place& place, Eigen::Ref<Eigen::VectorXd> out,
                      Eigen::Index first = 0) const;
  /// The values, whose memory is then the caller's until it is given back and
  /// all is computed again.
  Eigen::MatrixXd lend_values() { return std::move(values_); }
  void take_back(Eigen::MatrixXd values);
  /// Of so many rows both stay in the cache.
  static constexpr Eigen::Index kPart = 1024;
  /// Exponents and values of some rows, from `first` on; the latter are
  /// multiplied by sqrt(w) only.
  void fill_rows(const Place& place, const Response& response,
                 Eigen::Index first, Eigen::Ref<Eigen::VectorXd> exponents,
                 Eigen::Ref<Eigen::VectorXd> values) const;
  /// Exponents of rows first, first + stride, ...
  Eigen::VectorXd strided_exponents(const Place& place, Eigen::Index first,
                                    Eigen::Index stride) const;
  void put(int j, const Eigen::VectorXd& exponents,
           const Eigen::VectorXd& values);
  void move(int from, int to);
  /// Recomputes all of them; or only their values, from the exponents.
  void compute(const std::vector<Place>& places, const Response& response);
  void compute_values(int columns, const Response& response);
  void restore(const Eigen::MatrixXd& exponents, const Response& response);

  /// `places`: of the columns in use.
  void propose_scales(const ScaleChange& change,
                      const std::vector<Place>& places,
                      const Response& response);
  void propose_direction(int l, Eigen::VectorXd direction,
                         const std::vector<Place>& places,
                         const Response& response);
  /// Other places of some columns.
  void propose_places(const std::vector<Place>& places,
                      const std::vector<char>& changed,
                      const Response& response);
  const Eigen::MatrixXd& proposed_values() const { return next_.values; }
  void accept_proposal();

 private:
  using Matrix = Eigen::Ref<Eigen::MatrixXd>;

  void fill_values(Eigen::Ref<const Eigen::MatrixXd> exponents, Matrix out,
                   const Response& response) const;
  void add_exponents(const std::vector<Place>& places, int l, double scale);
  void add_exponents(const std::vector<Place>& places,
                     const Eigen::VectorXd& input, double scale);
  Eigen::VectorXd project(const Eigen::VectorXd& direction) const;
  void begin_proposal();
  template <class Input>
  void fill_from(const Input& input, const Place& place,
                 const std::vector<double>& log_lambda,
                 const std::vector<char>& included,
                 Eigen::Ref<Eigen::VectorXd> out) const;
  template <class Input>
  void fill_from(const Input& input, const Place& place,
                 Eigen::Ref<Eigen::VectorXd> out) const;
  void fill_proposed(const std::vector<Place>& places);

  const Data* data_;
  const Prior* prior_;
  Eigen::MatrixXd directions_, projected_;  // U and x U
  std::vector<double> log_lambda_;
  std::vector<char> included_;
  int n_included_ = 0;
  Eigen::MatrixXd exponents_, values_;

  struct Proposal {
    int direction = -1;  // the changing one, if any
    Eigen::VectorXd along, input;
    std::vector<double> log_lambda;
    std::vector<char> included;
    Eigen::MatrixXd exponents, values;
  } next_;
};

}  // namespace kernelbayes::bark
