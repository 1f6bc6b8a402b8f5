// States as plain R lists.
#pragma once

#include <RcppEigen.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/machine.hpp"

/// Writes a state to a list.
class ListWriter : public kernelbayes::Archive {
 public:
  bool reading() const override { return false; }
  std::size_t size(const char*) const override { return 0; }
  void within(const char* name, const Body& body) override;
  void list(const char* name, std::size_t count, const EachBody& body) override;
  void label(const char* name, const std::vector<std::string>& names) override;

  Rcpp::List written() const;

 protected:
  void carry(const char* name, std::vector<int>& values) override;
  void carry(const char* name, std::vector<double>& values) override;
  void carry(const char* name, Eigen::MatrixXd& matrix) override;
  std::string path(const char* name) const override { return name; }

 private:
  void add(const char* name, Rcpp::RObject value) {
    values_.emplace_back(name, std::move(value));
  }
  std::vector<std::pair<std::string, Rcpp::RObject>> values_;
};

/// Reads a state from a list that may come from an edited file: missing values
/// and wrong types are errors.
class ListReader : public kernelbayes::Archive {
 public:
  /// `path`: the name of the list in messages.
  explicit ListReader(const Rcpp::List& list, std::string path = "state");

  bool reading() const override { return true; }
  std::size_t size(const char* name) const override;
  void within(const char* name, const Body& body) override;
  void list(const char* name, std::size_t count, const EachBody& body) override;

 protected:
  void carry(const char* name, std::vector<int>& values) override;
  void carry(const char* name, std::vector<double>& values) override;
  void carry(const char* name, Eigen::MatrixXd& matrix) override;
  std::string path(const char* name) const override {
    return path_ + "$" + name;
  }

 private:
  SEXP find(const char* name) const;
  /// The value of this type, or an error.
  SEXP find(const char* name, SEXPTYPE type, const char* wanted) const;

  Rcpp::List list_;
  std::vector<std::string> names_;
  std::string path_;
};

/// Calls body(archive) for a state; a damaged one ends the call.
void read_state(const Rcpp::List& state,
                const std::function<void(kernelbayes::Archive&)>& body);

/// A pointer to a machine that continues from `state`, or from its start.
SEXP open_machine(std::unique_ptr<kernelbayes::Machine> machine,
                  const Rcpp::Nullable<Rcpp::List>& state);
kernelbayes::Machine& machine_of(SEXP handle);
