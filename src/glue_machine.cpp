// Entry points for all samplers, after their own glue has opened them.
#include <cstdlib>
#include <vector>

#include "core/machine.hpp"
#include "glue/archive.hpp"
#include "glue/executor.hpp"

// Advances independent samplers, `threads` at a time; returns their times.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector machines_advance_cpp(const Rcpp::List& handles, int n,
                                         int threads) {
  std::vector<kernelbayes::Machine*> machines;
  for (SEXP handle : handles) machines.push_back(&machine_of(handle));
  kernelbayes::advance_machines(machines, n, threads,
                                make_executor(threads, 1));
  Rcpp::IntegerVector times;
  for (const auto* machine : machines) times.push_back(machine->time());
  return times;
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

// Does the system allocate this many bytes? They are not touched.
// [[Rcpp::export(rng = false)]]
bool can_allocate_cpp(double bytes) {
  if (!(bytes < 9e15)) return false;
  void* volatile memory = std::malloc(static_cast<std::size_t>(bytes) + 1);
  const bool given = memory != nullptr;
  std::free(memory);
  return given;
}
