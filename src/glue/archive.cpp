#include "glue/archive.hpp"

#include "glue/lists.hpp"

using kernelbayes::DamagedState;
using kernelbayes::Machine;

// Writing ---------------------------------------------------------------------

void ListWriter::within(const char* name, const Body& body) {
  ListWriter inner;
  body(inner);
  add(name, inner.written());
}

void ListWriter::list(const char* name, std::size_t count,
                      const EachBody& body) {
  Rcpp::List out(count);
  for (std::size_t i = 0; i < count; ++i) {
    ListWriter inner;
    body(inner, i);
    out[i] = inner.written();
  }
  add(name, out);
}

void ListWriter::label(const char* name,
                       const std::vector<std::string>& names) {
  for (auto& value : values_) {
    if (value.first == name) value.second.attr("names") = names;
  }
}

Rcpp::List ListWriter::written() const {
  Rcpp::List out(values_.size());
  Rcpp::CharacterVector names(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    names[i] = values_[i].first;
    out[i] = values_[i].second;
  }
  out.names() = names;
  return out;
}

void ListWriter::carry(const char* name, std::vector<int>& values) {
  add(name, Rcpp::wrap(values));
}

void ListWriter::carry(const char* name, std::vector<double>& values) {
  add(name, Rcpp::wrap(values));
}

void ListWriter::carry(const char* name, Eigen::MatrixXd& matrix) {
  add(name, Rcpp::wrap(matrix));
}

// Reading ---------------------------------------------------------------------

ListReader::ListReader(const Rcpp::List& list, std::string path)
    : list_(list), path_(std::move(path)) {
  if (list.hasAttribute("names")) {
    names_ = Rcpp::as<std::vector<std::string>>(list.names());
  }
}

SEXP ListReader::find(const char* name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return list_[i];
  }
  return R_NilValue;
}

SEXP ListReader::find(const char* name, SEXPTYPE type,
                      const char* wanted) const {
  SEXP value = find(name);
  if (static_cast<SEXPTYPE>(TYPEOF(value)) != type) {
    throw DamagedState(path(name) + " must be " + wanted);
  }
  return value;
}

std::size_t ListReader::size(const char* name) const {
  return static_cast<std::size_t>(Rf_xlength(find(name)));
}

void ListReader::within(const char* name, const Body& body) {
  ListReader inner(Rcpp::List(find(name, VECSXP, "a list")), path(name));
  body(inner);
}

void ListReader::list(const char* name, std::size_t count,
                      const EachBody& body) {
  const Rcpp::List all(find(name, VECSXP, "a list"));
  require(static_cast<std::size_t>(all.size()) == count, name,
          "as long as the settings imply");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string where = path(name) + "[[" + std::to_string(i + 1) + "]]";
    SEXP one = all[i];
    if (TYPEOF(one) != VECSXP) throw DamagedState(where + " must be a list");
    ListReader inner{Rcpp::List(one), where};
    body(inner, i);
  }
}

void ListReader::carry(const char* name, std::vector<int>& values) {
  SEXP from = find(name, INTSXP, "whole numbers");
  values.assign(INTEGER(from), INTEGER(from) + Rf_xlength(from));
}

void ListReader::carry(const char* name, std::vector<double>& values) {
  SEXP from = find(name, REALSXP, "numbers");
  values.assign(REAL(from), REAL(from) + Rf_xlength(from));
}

void ListReader::carry(const char* name, Eigen::MatrixXd& matrix) {
  SEXP from = find(name, REALSXP, "a matrix of numbers");
  require(Rf_isMatrix(from), name, "a matrix of numbers");
  matrix = Rcpp::as<Eigen::MatrixXd>(from);
}

// Machines --------------------------------------------------------------------

void read_state(const Rcpp::List& state,
                const std::function<void(kernelbayes::Archive&)>& body) {
  ListReader reader(state);
  try {
    body(reader);
  } catch (const DamagedState& error) {
    refuse_damage(error.what());
  }
}

SEXP open_machine(std::unique_ptr<Machine> machine,
                  const Rcpp::Nullable<Rcpp::List>& state) {
  if (state.isNotNull()) {
    read_state(Rcpp::List(state.get()), [&](kernelbayes::Archive& archive) {
      machine->transfer(archive);
    });
  }
  return Rcpp::XPtr<Machine>(machine.release());
}

Machine& machine_of(SEXP handle) {
  return *Rcpp::XPtr<Machine>(handle).checked_get();
}
