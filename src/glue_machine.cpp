// Entry points for all samplers, after their own glue has opened them.
#include "glue/archive.hpp"

// Returns the time reached.
// [[Rcpp::export(rng = false)]]
int machine_advance_cpp(SEXP handle, int n) {
  kernelbayes::Machine& machine = machine_of(handle);
  machine.advance(n);
  return machine.time();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List machine_state_cpp(SEXP handle) {
  ListWriter writer;
  machine_of(handle).transfer(writer);
  return writer.written();
}

// Frees the memory now: R's garbage collector does not know its size.
// [[Rcpp::export(rng = false)]]
void machine_close_cpp(SEXP handle) {
  Rcpp::XPtr<kernelbayes::Machine>(handle).release();
}
