// A resumable sampler behind an external pointer: what every engine's glue does
// with it.
#pragma once

#include <Rcpp.h>

#include <memory>
#include <utility>

template <class Machine>
Machine& machine_of(SEXP handle) {
  return *Rcpp::XPtr<Machine>(handle).checked_get();
}

/// `from_r` makes a Machine::Saved of a list.
template <class Machine, class FromR>
SEXP open_machine(std::unique_ptr<Machine> machine,
                  const Rcpp::Nullable<Rcpp::List>& state, FromR from_r) {
  if (state.isNotNull()) machine->restore(from_r(Rcpp::List(state.get())));
  return Rcpp::XPtr<Machine>(machine.release());
}

/// The time that it has come to.
template <class Machine>
int advance_machine(SEXP handle, int n) {
  Machine& machine = machine_of<Machine>(handle);
  machine.advance(n);
  return machine.time();
}

template <class Machine>
void close_machine(SEXP handle) {
  Rcpp::XPtr<Machine>(handle).release();
}
